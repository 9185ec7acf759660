# fish completion for canon-ops. Generated from the command tree; `make generate` writes it.

function __canon_ops
    set -l words (commandline -opc)
    set -l cur (commandline -ct)
    set -l where ''
    set -l count 0
    set -l plain ''
    set -l takes ''
    set -l program $words[1]
    for word in $words[2..-1]
        if test -n "$takes"
            set takes ''
        else if test -n "$plain"
            set count (math $count + 1)
        else if test "$word" = --
            set plain 1
        else if string match -q -- '-*' $word
            set where (__canon_ops_join "$where" (__canon_ops_default "$where"))
            string match -q -- '*=*' $word; or set takes (__canon_ops_takes "$where $word")
        else if __canon_ops_members "$where" | string match -q -- "$word"\t'*'
            set where (__canon_ops_join "$where" $word)
        else
            set count (math $count + 1)
        end
    end
    if test -n "$takes"
        __canon_ops_offer '' $takes
    else if string match -q -- '--*=*' $cur; and test -z "$plain"
        set -l option (string replace -r '=.*' '' -- $cur)
        set where (__canon_ops_join "$where" (__canon_ops_default "$where"))
        __canon_ops_offer "$option=" (__canon_ops_takes "$where $option")
    else if string match -q -- '-*' $cur; and test -z "$plain"
        set where (__canon_ops_join "$where" (__canon_ops_default "$where"))
        __canon_ops_options "$where"
    else
        set -l members (__canon_ops_members "$where")
        if test (count $members) -gt 0
            test $count -eq 0; and printf '%s\n' $members
        else
            __canon_ops_offer '' (__canon_ops_argument "$where "(math $count + 1))
        end
    end
end

function __canon_ops_join
    string join ' ' -- (string match -v -- '' $argv)
end

# The candidates for one value: what stands before it in its word, and what it may be.
function __canon_ops_offer -S
    set -l kind (string split ' ' -- $argv[2])
    switch "$kind[1]"
        case words
            printf "$argv[1]%s\n" $kind[2..-1]
        case ask
            printf "$argv[1]%s\n" ($program __complete $kind[2] $words[2..-1] 2>/dev/null)
        case files
            __fish_complete_path (string replace -r '^--[^=]*=' '' -- $cur)
        case folders
            __fish_complete_directories (string replace -r '^--[^=]*=' '' -- $cur) ''
    end
end

function __canon_ops_members
    switch "$argv[1]"
        case ''
            printf '%s\t%s\n' \
                'install' 'Make the Hermes host run a platform: package there, plugin enabled, platform enabled, access decided.' \
                'setup' 'Give a Hermes profile its agent on a platform.' \
                'upgrade' 'Put a newer version of this package into the interpreter that runs Hermes.' \
                'rollback' 'Go back before the newest install or upgrade: its package and its configuration.' \
                'uninstall' 'Take an installation back: what was written leaves the files, what was brought leaves the host.' \
                'host' 'Look at the Hermes host, and at what the platforms rely on in it.' \
                'config' 'Read and edit the Hermes configuration, keeping every other byte.' \
                'env' 'Read and edit the variables of a Hermes profile, one line at a time.' \
                'profile' 'Look at the Canon profiles, and choose which one a Hermes profile uses.' \
                'creds' 'See where keys come from; test, move, remove and audit them.' \
                'preferences' 'Read and edit this tool\'s own settings.' \
                'history' 'Look at what this tool changed.' \
                'undo' 'Take a change of this tool back: every file gets the bytes from before it.' \
                'status' 'Show host, platforms, credential and gateway on one screen.' \
                'approvals' 'Look at detached approvals: what humans were asked, how it stands, and whether the records are whole.' \
                'inbox' 'Look at Borgee\'s messages on disk, and decide about those that a crash left in doubt.' \
                'outbox' 'Look at what Canon does not have for certain, and decide about what it refused.' \
                'doctor' 'Check an installation, and name the command that repairs what is wrong, or repair it.' \
                'explain' 'Explain a check or an error code: cause, why it matters, and how to repair it by hand.' \
                'gateway' 'See how the gateway of a Hermes profile stands, and restart it.' \
                'logs' 'Show the gateway\'s log: the last records, filtered, with every secret of the home taken out.' \
                'version' 'Show the versions of canon-ops, of Hermes and of Python.' \
                'demo' 'Watch the whole product work, in a temporary home and without any network.' \
                'sandbox' 'Serve Canon, Borgee or a model on loopback, for trials and tests.' \
                'completion' 'Complete commands, options and values in bash, zsh and fish.' \
                'man' 'Read the manual.' \
                'schema' 'Describe the JSON documents of the other commands.'
        case 'setup'
            printf '%s\t%s\n' \
                'canon' 'Give the Hermes profile its Canon agent: register, reconnect, use a profile, or paste a key.' \
                'borgee' 'Give the Hermes profile its Borgee agent: the server\'s address and the agent\'s key.'
        case 'host'
            printf '%s\t%s\n' \
                'show' 'Show the Hermes that commands act on, and what a platform misses in it.' \
                'list' 'List every Hermes that can be found here, and the audited ones.'
        case 'config'
            printf '%s\t%s\n' \
                'get' 'Print one value of the Hermes configuration.' \
                'set' 'Set one value of the Hermes configuration.' \
                'unset' 'Remove one key from the Hermes configuration.' \
                'add' 'Append an item to a list of the Hermes configuration, once.' \
                'remove' 'Remove an item from a list of the Hermes configuration.' \
                'list' 'List the keys that matter to the platforms, and where each value comes from.' \
                'path' 'Print where the Hermes configuration is.' \
                'validate' 'Check the Hermes configuration: readable, right types, no key that is dropped.' \
                'diff' 'Show what changed in the Hermes configuration since this tool last wrote it.' \
                'edit' 'Edit the Hermes configuration in your editor; nothing that Hermes cannot read is saved.' \
                'recommend' 'Propose the documented settings of a platform, as one change.' \
                'snapshot' 'Keep the present text of the Hermes configuration in the history.' \
                'heal' 'Bring back the comments that another program dropped.'
        case 'env'
            printf '%s\t%s\n' \
                'list' 'List the variables in force, masked, with where each comes from and what it hides.' \
                'get' 'Print the value that a gateway started here has for a variable.' \
                'set' 'Set one variable in the .env of the Hermes profile; every other line stays as it is.' \
                'unset' 'Remove a variable from the .env of the Hermes profile, every line of it.' \
                'lint' 'Name each line of .env that is skipped, counts for nothing, or is read differently by the gateway and others.'
        case 'profile'
            printf '%s\t%s\n' \
                'list' 'List the Canon profiles, with agent, environment, storage, problems and the Hermes profiles that use them.' \
                'show' 'Show one Canon profile, its key excepted.' \
                'bind' 'Make the Hermes profile use a Canon profile, and remove what would override it.' \
                'unbind' 'Make the Hermes profile name no Canon profile.' \
                'cancel' 'Give up a registration with Canon that is not finished, so that nothing waits for it any more.' \
                'migrate' 'Bind an older Canon profile to its environment.' \
                'export' 'Export Canon profiles for another machine; keys only with --include-secrets.' \
                'import' 'Import Canon profiles from an exported file, or from another agents.json.'
        case 'creds'
            printf '%s\t%s\n' \
                'list' 'List the values in force, where each comes from, and what it hides.' \
                'test' 'Ask the platform who the key is.' \
                'move' 'Move a key between its file and the system\'s keyring.' \
                'remove' 'Remove a key from this machine: from its file, from the keyring, and from the history of changes.' \
                'audit' 'Find copies of keys, files that others can read, and keys in places that should not hold them.'
        case 'preferences'
            printf '%s\t%s\n' \
                'list' 'List this tool\'s own settings, and where each comes from.' \
                'set' 'Set one of this tool\'s own settings; comments and everything else in the file stay.' \
                'unset' 'Drop one of this tool\'s own settings, so that its default counts.'
        case 'history'
            printf '%s\t%s\n' \
                'list' 'List what this tool changed, the newest first.' \
                'show' 'Show one change: when, by which command, and the difference that it made; secrets are masked.' \
                'finish' 'Finish what a command that was killed left half-done.'
        case 'approvals'
            printf '%s\t%s\n' \
                'list' 'List detached approvals, the newest first.' \
                'show' 'Show one approval: what was asked, of whom, how it stands, and what to do next.' \
                'reconcile' 'Find out at Canon how open approvals stand.' \
                'abandon' 'Give up approvals that nothing can settle any more.' \
                'watch' 'Tell what happens to detached approvals, until stopped.' \
                'audit' 'Print what happened to each approval, and check that the trail is whole.' \
                'verify' 'Check the registry of detached approvals, entry by entry.' \
                'export' 'Write approvals for another program: JSON, or CSV with a heading.' \
                'prune' 'Drop approvals that came to their end more than 14 days ago.'
        case 'inbox'
            printf '%s\t%s\n' \
                'list' 'List receipts of Borgee\'s inbox, the newest first.' \
                'show' 'Show one receipt: what was said, and how far it came.' \
                'stats' 'Count receipts, and name the sessions that wait for a person.' \
                'discard' 'Give a quarantined receipt up; its message is never run.' \
                'requeue' 'Let a quarantined receipt run again, effects included.'
        case 'outbox'
            printf '%s\t%s\n' \
                'list' 'List what Canon does not have for certain, the oldest first.' \
                'show' 'Show one message: its text, how far it came, and why not further.' \
                'retry' 'Have the gateway send a message again that it gave up.' \
                'discard' 'Give a message up; the people in its conversation never get it.'
        case 'gateway'
            printf '%s\t%s\n' \
                'status' 'Show whether a gateway runs on the Hermes profile, and what it says of its platforms.' \
                'restart' 'Restart the gateway through the service that keeps it running, and wait for the new one.'
        case 'sandbox'
            printf '%s\t%s\n' \
                'canon' 'Serve the Canon API and stream on loopback until stopped.' \
                'borgee' 'Serve Borgee\'s websocket on loopback until stopped.' \
                'model' 'Serve a scripted chat model on loopback until stopped.'
        case 'completion'
            printf '%s\t%s\n' \
                'show' 'Print the completion script of a shell.' \
                'install' 'Put the completion script where the shell looks for it.' \
                'status' 'Show for each shell whether its completion script is there, current, and found.' \
                'uninstall' 'Remove the completion script of a shell, and what --rc added.'
        case 'man'
            printf '%s\t%s\n' \
                'show' 'Show the manual page of a command.' \
                'path' 'Print the folder of the manual pages, for MANPATH.'
        case 'schema'
            printf '%s\t%s\n' \
                'list' 'List the JSON documents that commands answer with.' \
                'show' 'Print the JSON Schema of one document.'
    end
end

function __canon_ops_default
    switch "$argv[1]"
        case 'setup'
            echo 'canon'
    end
end

function __canon_ops_options
    switch "$argv[1]"
        case ''
            printf '%s\t%s\n' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.' \
                '--version' 'Show the version and exit.'
        case 'install'
            printf '%s\t%s\n' \
                '--platform' 'The same as an option.' \
                '--setup' 'Set up the platform\'s agent right after.' \
                '--python' 'The host\'s interpreter, instead of the one that is found.' \
                '--source' 'What to put into the host\'s interpreter.  [default: the running version of canon-ops]' \
                '--skip-package' 'Edit the configuration only; leave package and import alone.' \
                '--allow-all-users' 'Whether everybody whom the platform lets through may start turns.  [default: yes on a first install]' \
                '--no-allow-all-users' 'Whether everybody whom the platform lets through may start turns.  [default: yes on a first install]' \
                '--allowed-users' 'Only these people may start turns; ids, parted by commas.' \
                '--dry-run' 'Say what would change; change nothing.' \
                '--diff' 'Show the change line by line.' \
                '--if-unchanged' 'Change nothing unless FILE is still the one with this digest; FILE may be left out where only one file changes, and a relative one lies in the Hermes home.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'setup'
            printf '%s\t%s\n' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'setup canon'
            printf '%s\t%s\n' \
                '--environment' 'The Canon environment that owns the agent.' \
                '--way' 'How the home gets its agent.' \
                '--base-url' 'API of the environment, instead of the packaged one.' \
                '--stream-url' 'Event stream of the environment, instead of the packaged one.' \
                '--rtdb-url' 'Realtime database of the environment, instead of the packaged one.' \
                '--firebase-api-key' 'Public web key of the environment, instead of the packaged one.' \
                '--agent-name' 'Name of the agent, as people will see it.' \
                '--description' 'What the agent is for; its owner reads it before approving.' \
                '--owner-phone' 'Phone number of the agent\'s owner, with + and country code.' \
                '--canon-profile' 'Canon profile under which the agent is kept.' \
                '--agent-id' 'Reconnect this agent instead of registering a new one.' \
                '--use-profile' 'Use a Canon profile that exists; register nothing.' \
                '--api-key-stdin' 'Use an agent key, read from stdin.' \
                '--api-key-file' 'Use the agent key in FILE.' \
                '--api-key-env' 'Use the agent key in the environment variable NAME.' \
                '--store' 'Where a new key goes; in the keyring it belongs to a Canon profile.  [default: keyring.store, else file]' \
                '--start-over' 'Make a new registration: drop a pending one, and replace an agent that the profile holds unbound.' \
                '--wait' 'How long to wait for the owner\'s decision; 0 sends the request and looks once.  [default: 300]' \
                '--answers' 'Answers as TOML.' \
                '--save-answers' 'Write the answers there as TOML, without any key, for the next machine.' \
                '--dry-run' 'Say what would change; change nothing.' \
                '--diff' 'Show the change line by line.' \
                '--if-unchanged' 'Change nothing unless FILE is still the one with this digest; FILE may be left out where only one file changes, and a relative one lies in the Hermes home.' \
                '--timeout' 'How long to wait for the network.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'setup borgee'
            printf '%s\t%s\n' \
                '--base-url' 'The Borgee server: an https origin.' \
                '--allow-insecure-loopback' 'Whether plain http to a server on this very machine is fine.' \
                '--no-allow-insecure-loopback' 'Whether plain http to a server on this very machine is fine.' \
                '--agent-id' 'The agent that the key must belong to, now and at every start.' \
                '--keep-key' 'Whether the key that is there stays.' \
                '--new-key' 'Whether the key that is there stays.' \
                '--api-key-stdin' 'Use an agent key, read from stdin.' \
                '--api-key-file' 'Use the agent key in FILE.' \
                '--api-key-env' 'Use the agent key in the environment variable NAME.' \
                '--store' 'Where the key goes.  [default: a kept key stays; keyring.store, else file]' \
                '--change-shared' 'Whether group_sessions_per_user: false and the queue mode may be set, for every platform of the gateway.' \
                '--no-change-shared' 'Whether group_sessions_per_user: false and the queue mode may be set, for every platform of the gateway.' \
                '--answers' 'Answers as TOML.' \
                '--save-answers' 'Write the answers there as TOML, without any key, for the next machine.' \
                '--dry-run' 'Say what would change; change nothing.' \
                '--diff' 'Show the change line by line.' \
                '--if-unchanged' 'Change nothing unless FILE is still the one with this digest; FILE may be left out where only one file changes, and a relative one lies in the Hermes home.' \
                '--timeout' 'How long to wait for the network.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'upgrade'
            printf '%s\t%s\n' \
                '--python' 'The host\'s interpreter, instead of the one that is found.' \
                '--source' 'What to put into the host\'s interpreter.  [default: the running version of canon-ops]' \
                '--all-profiles' 'Every Hermes profile that enables a plugin of ours, one after the other.' \
                '--dry-run' 'Say what would change; change nothing.' \
                '--diff' 'Show the change line by line.' \
                '--if-unchanged' 'Change nothing unless FILE is still the one with this digest; FILE may be left out where only one file changes, and a relative one lies in the Hermes home.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'rollback'
            printf '%s\t%s\n' \
                '--python' 'The host\'s interpreter, instead of the one that was recorded.' \
                '--skip-package' 'Take back the configuration only; leave the package.' \
                '--dry-run' 'Say what would change; change nothing.' \
                '--diff' 'Show the change line by line.' \
                '--if-unchanged' 'Change nothing unless FILE is still the one with this digest; FILE may be left out where only one file changes, and a relative one lies in the Hermes home.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'uninstall'
            printf '%s\t%s\n' \
                '--python' 'The host\'s interpreter, instead of the one that is found.' \
                '--skip-package' 'Take back the configuration only; leave the package.' \
                '--purge' 'Take the platform\'s credentials too: its variables, its Canon profile, keyring and history included.' \
                '--dry-run' 'Say what would change; change nothing.' \
                '--diff' 'Show the change line by line.' \
                '--if-unchanged' 'Change nothing unless FILE is still the one with this digest; FILE may be left out where only one file changes, and a relative one lies in the Hermes home.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'host'
            printf '%s\t%s\n' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'host show'
            printf '%s\t%s\n' \
                '--python' 'The host\'s interpreter, or the folder of its environment.' \
                '--platform' 'Whose needs.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'host list'
            printf '%s\t%s\n' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'config'
            printf '%s\t%s\n' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'config get'
            printf '%s\t%s\n' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'config set'
            printf '%s\t%s\n' \
                '--stdin' 'Take the value from stdin.' \
                '--from-file' 'Take the value from a file.' \
                '--from-env' 'Take the value from a variable of this process.' \
                '--type' 'How to read the value.' \
                '--allow-reformat' 'Where the edit cannot keep every other byte, offer the whole file written anew.' \
                '--dry-run' 'Say what would change; change nothing.' \
                '--diff' 'Show the change line by line.' \
                '--if-unchanged' 'Change nothing unless FILE is still the one with this digest; FILE may be left out where only one file changes, and a relative one lies in the Hermes home.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'config unset'
            printf '%s\t%s\n' \
                '--allow-reformat' 'Where the edit cannot keep every other byte, offer the whole file written anew.' \
                '--dry-run' 'Say what would change; change nothing.' \
                '--diff' 'Show the change line by line.' \
                '--if-unchanged' 'Change nothing unless FILE is still the one with this digest; FILE may be left out where only one file changes, and a relative one lies in the Hermes home.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'config add'
            printf '%s\t%s\n' \
                '--type' 'How to read the value.' \
                '--convert' 'Turn a text in the list\'s place (a, b) into a list of its words first.' \
                '--allow-reformat' 'Where the edit cannot keep every other byte, offer the whole file written anew.' \
                '--dry-run' 'Say what would change; change nothing.' \
                '--diff' 'Show the change line by line.' \
                '--if-unchanged' 'Change nothing unless FILE is still the one with this digest; FILE may be left out where only one file changes, and a relative one lies in the Hermes home.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'config remove'
            printf '%s\t%s\n' \
                '--type' 'How to read the value.' \
                '--convert' 'Turn a text in the list\'s place (a, b) into a list of its words first.' \
                '--allow-reformat' 'Where the edit cannot keep every other byte, offer the whole file written anew.' \
                '--dry-run' 'Say what would change; change nothing.' \
                '--diff' 'Show the change line by line.' \
                '--if-unchanged' 'Change nothing unless FILE is still the one with this digest; FILE may be left out where only one file changes, and a relative one lies in the Hermes home.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'config list'
            printf '%s\t%s\n' \
                '--all' 'Every known key, also those that nobody sets or recommends.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'config path'
            printf '%s\t%s\n' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'config validate'
            printf '%s\t%s\n' \
                '--strict' 'Warnings make the exit code 1 too.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'config diff'
            printf '%s\t%s\n' \
                '--values' 'Only what Hermes reads differently, not the lines.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'config edit'
            printf '%s\t%s\n' \
                '--dry-run' 'Say what would change; change nothing.' \
                '--diff' 'Show the change line by line.' \
                '--if-unchanged' 'Change nothing unless FILE is still the one with this digest; FILE may be left out where only one file changes, and a relative one lies in the Hermes home.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'config recommend'
            printf '%s\t%s\n' \
                '--dry-run' 'Say what would change; change nothing.' \
                '--diff' 'Show the change line by line.' \
                '--if-unchanged' 'Change nothing unless FILE is still the one with this digest; FILE may be left out where only one file changes, and a relative one lies in the Hermes home.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'config snapshot'
            printf '%s\t%s\n' \
                '--dry-run' 'Say what would change; change nothing.' \
                '--diff' 'Show the change line by line.' \
                '--if-unchanged' 'Change nothing unless FILE is still the one with this digest; FILE may be left out where only one file changes, and a relative one lies in the Hermes home.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'config heal'
            printf '%s\t%s\n' \
                '--since' 'The history entry to take the comments from, whoever took them out since.' \
                '--dry-run' 'Say what would change; change nothing.' \
                '--diff' 'Show the change line by line.' \
                '--if-unchanged' 'Change nothing unless FILE is still the one with this digest; FILE may be left out where only one file changes, and a relative one lies in the Hermes home.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'env'
            printf '%s\t%s\n' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'env list'
            printf '%s\t%s\n' \
                '--all' 'Also the known variables that have a default and no value.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'env get'
            printf '%s\t%s\n' \
                '--reveal' 'Print a masked value; into a pipe or a file only with --yes.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'env set'
            printf '%s\t%s\n' \
                '--stdin' 'Take the value from stdin.' \
                '--from-file' 'Take the value from a file.' \
                '--from-env' 'Take the value from a variable of this process.' \
                '--readers' 'Who must read the value alike: the gateway, Hermes\' commands, a shell that sources the file.' \
                '--dry-run' 'Say what would change; change nothing.' \
                '--diff' 'Show the change line by line.' \
                '--if-unchanged' 'Change nothing unless FILE is still the one with this digest; FILE may be left out where only one file changes, and a relative one lies in the Hermes home.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'env unset'
            printf '%s\t%s\n' \
                '--dry-run' 'Say what would change; change nothing.' \
                '--diff' 'Show the change line by line.' \
                '--if-unchanged' 'Change nothing unless FILE is still the one with this digest; FILE may be left out where only one file changes, and a relative one lies in the Hermes home.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'env lint'
            printf '%s\t%s\n' \
                '--fix' 'Remove earlier copies, a byte-order mark and CRs; quote what the readers take differently.' \
                '--dry-run' 'Say what would change; change nothing.' \
                '--diff' 'Show the change line by line.' \
                '--if-unchanged' 'Change nothing unless FILE is still the one with this digest; FILE may be left out where only one file changes, and a relative one lies in the Hermes home.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'profile'
            printf '%s\t%s\n' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'profile list'
            printf '%s\t%s\n' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'profile show'
            printf '%s\t%s\n' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'profile bind'
            printf '%s\t%s\n' \
                '--dry-run' 'Say what would change; change nothing.' \
                '--diff' 'Show the change line by line.' \
                '--if-unchanged' 'Change nothing unless FILE is still the one with this digest; FILE may be left out where only one file changes, and a relative one lies in the Hermes home.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'profile unbind'
            printf '%s\t%s\n' \
                '--dry-run' 'Say what would change; change nothing.' \
                '--diff' 'Show the change line by line.' \
                '--if-unchanged' 'Change nothing unless FILE is still the one with this digest; FILE may be left out where only one file changes, and a relative one lies in the Hermes home.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'profile cancel'
            printf '%s\t%s\n' \
                '--dry-run' 'Say what would change; change nothing.' \
                '--diff' 'Show the change line by line.' \
                '--if-unchanged' 'Change nothing unless FILE is still the one with this digest; FILE may be left out where only one file changes, and a relative one lies in the Hermes home.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'profile migrate'
            printf '%s\t%s\n' \
                '--environment' 'The Canon environment that owns the agent.' \
                '--base-url' 'API of the environment, instead of the packaged one.' \
                '--stream-url' 'Event stream of the environment, instead of the packaged one.' \
                '--rtdb-url' 'Realtime database of the environment, instead of the packaged one.' \
                '--firebase-api-key' 'Public web key, instead of the packaged one.' \
                '--dry-run' 'Say what would change; change nothing.' \
                '--diff' 'Show the change line by line.' \
                '--if-unchanged' 'Change nothing unless FILE is still the one with this digest; FILE may be left out where only one file changes, and a relative one lies in the Hermes home.' \
                '--timeout' 'How long to wait for the network.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'profile export'
            printf '%s\t%s\n' \
                '-o' 'Write there instead of stdout.' \
                '--output' 'Write there instead of stdout.' \
                '--include-secrets' 'Put the keys in, too; into a private file only.' \
                '--replace' 'Overwrite FILE.' \
                '--dry-run' 'Say what would change; change nothing.' \
                '--diff' 'Show the change line by line.' \
                '--if-unchanged' 'Change nothing unless FILE is still the one with this digest; FILE may be left out where only one file changes, and a relative one lies in the Hermes home.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'profile import'
            printf '%s\t%s\n' \
                '--replace' 'Let them take the place of other profiles of the same names.' \
                '--dry-run' 'Say what would change; change nothing.' \
                '--diff' 'Show the change line by line.' \
                '--if-unchanged' 'Change nothing unless FILE is still the one with this digest; FILE may be left out where only one file changes, and a relative one lies in the Hermes home.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'creds'
            printf '%s\t%s\n' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'creds list'
            printf '%s\t%s\n' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'creds test'
            printf '%s\t%s\n' \
                '--canon-profile' 'The Canon profile that is meant, instead of the one in use.' \
                '--platform' 'Whose key.  [default: canon]' \
                '--timeout' 'How long to wait for the network.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'creds move'
            printf '%s\t%s\n' \
                '--to' 'Where the key goes.' \
                '--canon-profile' 'The Canon profile that is meant, instead of the one in use.' \
                '--platform' 'Whose key.  [default: canon]' \
                '--dry-run' 'Say what would change; change nothing.' \
                '--diff' 'Show the change line by line.' \
                '--if-unchanged' 'Change nothing unless FILE is still the one with this digest; FILE may be left out where only one file changes, and a relative one lies in the Hermes home.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'creds remove'
            printf '%s\t%s\n' \
                '--canon-profile' 'The Canon profile that is meant, instead of the one in use.' \
                '--platform' 'Whose key.  [default: canon]' \
                '--whole-profile' 'Remove the Canon profile itself, too, not its key alone.' \
                '--dry-run' 'Say what would change; change nothing.' \
                '--diff' 'Show the change line by line.' \
                '--if-unchanged' 'Change nothing unless FILE is still the one with this digest; FILE may be left out where only one file changes, and a relative one lies in the Hermes home.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'creds audit'
            printf '%s\t%s\n' \
                '--strict' 'Exit 1 for warnings, too.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'preferences'
            printf '%s\t%s\n' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'preferences list'
            printf '%s\t%s\n' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'preferences set'
            printf '%s\t%s\n' \
                '--dry-run' 'Say what would change; change nothing.' \
                '--diff' 'Show the change line by line.' \
                '--if-unchanged' 'Change nothing unless FILE is still the one with this digest; FILE may be left out where only one file changes, and a relative one lies in the Hermes home.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'preferences unset'
            printf '%s\t%s\n' \
                '--dry-run' 'Say what would change; change nothing.' \
                '--diff' 'Show the change line by line.' \
                '--if-unchanged' 'Change nothing unless FILE is still the one with this digest; FILE may be left out where only one file changes, and a relative one lies in the Hermes home.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'history'
            printf '%s\t%s\n' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'history list'
            printf '%s\t%s\n' \
                '-n' 'Only the newest N.' \
                '--last' 'Only the newest N.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'history show'
            printf '%s\t%s\n' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'history finish'
            printf '%s\t%s\n' \
                '--dry-run' 'Say what would change; change nothing.' \
                '--diff' 'Show the change line by line.' \
                '--if-unchanged' 'Change nothing unless FILE is still the one with this digest; FILE may be left out where only one file changes, and a relative one lies in the Hermes home.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'undo'
            printf '%s\t%s\n' \
                '--dry-run' 'Say what would change; change nothing.' \
                '--diff' 'Show the change line by line.' \
                '--if-unchanged' 'Change nothing unless FILE is still the one with this digest; FILE may be left out where only one file changes, and a relative one lies in the Hermes home.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'status'
            printf '%s\t%s\n' \
                '--watch' 'Look again and again, with this pause between two looks.  [default pause: 2]' \
                '--all-profiles' 'Show every Hermes profile.' \
                '--python' 'The host\'s interpreter, instead of the one that is found.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'approvals'
            printf '%s\t%s\n' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'approvals list'
            printf '%s\t%s\n' \
                '--state' 'Only approvals in this state; may be repeated.' \
                '--needs' 'Only approvals that need this.' \
                '--conversation' 'Only approvals of this conversation.' \
                '--since' 'Only approvals requested since then: 2026-11-30, or 36h, or 7d.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'approvals show'
            printf '%s\t%s\n' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'approvals reconcile'
            printf '%s\t%s\n' \
                '--apply' 'Carry the plan out.' \
                '--jobs' 'Ask N at a time.' \
                '--timeout' 'How long to wait for the network.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'approvals abandon'
            printf '%s\t%s\n' \
                '--apply' 'Carry the plan out.' \
                '--timeout' 'How long to wait for the network.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'approvals watch'
            printf '%s\t%s\n' \
                '--every' 'The pause between two looks.' \
                '--within' 'How long before its end an open approval is told of.' \
                '--exec' 'Run this when an approval nears its end, with the approval as JSON on its standard input; no shell.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'approvals audit'
            printf '%s\t%s\n' \
                '--acknowledge' 'Write down that the faults were looked into, and why they are.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'approvals verify'
            printf '%s\t%s\n' \
                '--quarantine' 'Move a registry that cannot be read aside, after asking.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'approvals export'
            printf '%s\t%s\n' \
                '--format' '' \
                '--state' 'Only approvals in this state; may be repeated.' \
                '--needs' 'Only approvals that need this.' \
                '--conversation' 'Only approvals of this conversation.' \
                '--since' 'Only approvals requested since then: 2026-11-30, or 36h, or 7d.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'approvals prune'
            printf '%s\t%s\n' \
                '--dry-run' 'Say what would be dropped; drop nothing.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'inbox'
            printf '%s\t%s\n' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'inbox list'
            printf '%s\t%s\n' \
                '--status' 'Only receipts in this state; may be repeated.  [default: everything unsettled]' \
                '--session' 'Only receipts of this session.' \
                '-n' 'At most N.' \
                '--last' 'At most N.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'inbox show'
            printf '%s\t%s\n' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'inbox stats'
            printf '%s\t%s\n' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'inbox discard'
            printf '%s\t%s\n' \
                '--dry-run' 'Say what would change; change nothing.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'inbox requeue'
            printf '%s\t%s\n' \
                '--confirm-duplicate-side-effect-risk' 'Say that its tools, requests and messages may have their effect a second time.' \
                '--dry-run' 'Say what would change; change nothing.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'outbox'
            printf '%s\t%s\n' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'outbox list'
            printf '%s\t%s\n' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'outbox show'
            printf '%s\t%s\n' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'outbox retry'
            printf '%s\t%s\n' \
                '--dry-run' 'Say what would change; change nothing.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'outbox discard'
            printf '%s\t%s\n' \
                '--dry-run' 'Say what would change; change nothing.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'doctor'
            printf '%s\t%s\n' \
                '--only' 'Ask only this check; repeat it, or part names by commas.' \
                '--skip' 'Leave this check out.' \
                '--area' 'Ask the checks of this area.' \
                '--list' 'List the checks; ask none.' \
                '--severity-min' 'Tell only findings at least as grave as this; --fix repairs from here on.  [--fix: warning]' \
                '--strict' 'Warnings count like errors.' \
                '--offline' 'Leave out what needs the network.' \
                '--fix' 'Repair what can be repaired, after showing it and asking.' \
                '--live' 'Also say something in the home channel, after asking.' \
                '--bundle' 'Write what was found and looked at into a new archive, without secrets; its contents are listed first.' \
                '--all-profiles' 'Examine every Hermes profile.' \
                '--python' 'The host\'s interpreter, instead of the one that is found.' \
                '--dry-run' 'Say what would change; change nothing.' \
                '--diff' 'Show the change line by line.' \
                '--if-unchanged' 'Change nothing unless FILE is still the one with this digest; FILE may be left out where only one file changes, and a relative one lies in the Hermes home.' \
                '--timeout' 'How long to wait for the network.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'explain'
            printf '%s\t%s\n' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'gateway'
            printf '%s\t%s\n' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'gateway status'
            printf '%s\t%s\n' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'gateway restart'
            printf '%s\t%s\n' \
                '--wait' 'How long to wait until the new gateway runs.' \
                '--python' 'The host\'s interpreter, instead of the one that is found.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'logs'
            printf '%s\t%s\n' \
                '-f' 'Go on with what is written, until stopped.' \
                '--follow' 'Go on with what is written, until stopped.' \
                '-n' 'How many.' \
                '--lines' 'How many.' \
                '--file' 'Which log.' \
                '--level' 'Only records at least as grave.' \
                '--grep' 'Only records whose text or logger matches.' \
                '--platform' 'Only what is about this platform.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'version'
            printf '%s\t%s\n' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'demo'
            printf '%s\t%s\n' \
                '--python' 'The host\'s interpreter, instead of the one that is found.' \
                '--message' 'What the person says.' \
                '--answer' 'What the model answers.' \
                '--prompt' 'Who the agent is told to be.' \
                '--question' 'What the agent asks the person to approve.' \
                '--decision' 'What the person answers to it.' \
                '--keep' 'Keep the temporary home and the gateway\'s log.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'sandbox'
            printf '%s\t%s\n' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'sandbox canon'
            printf '%s\t%s\n' \
                '--port' 'Port of the API; 0 takes a free one.' \
                '--stream-port' 'Port of the stream; 0 takes a free one.' \
                '--environment' 'The environment that it says it is.' \
                '--auto-approve' 'Approve registrations without a person.' \
                '--fault' 'Arm a fault before the first request; an unknown name lists them.' \
                '--ready-file' 'Write the endpoints there as JSON, whole and last.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'sandbox borgee'
            printf '%s\t%s\n' \
                '--port' 'Port of the websocket; 0 takes a free one.' \
                '--admin-port' 'Port of the human side; 0 takes a free one.' \
                '--no-mention' 'Send the agent every message of its channels, mentioned or not.' \
                '--echo' 'Send an agent\'s own messages back to it, before or after the answer to its action.' \
                '--fault' 'Arm a fault before the first request; an unknown name lists them.' \
                '--ready-file' 'Write the endpoints there as JSON, whole and last.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'sandbox model'
            printf '%s\t%s\n' \
                '--port' 'Port; 0 takes a free one.' \
                '--answer' 'An answer, one a message, in this order.' \
                '--default-answer' 'What is said when no answer is left; {text} is the user\'s text.' \
                '--ready-file' 'Write the endpoints there as JSON, whole and last.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'completion'
            printf '%s\t%s\n' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'completion show'
            printf '%s\t%s\n' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'completion install'
            printf '%s\t%s\n' \
                '--rc' 'Also edit the shell\'s own configuration, where it needs a line.' \
                '--dry-run' 'Say what would change; change nothing.' \
                '--diff' 'Show the change line by line.' \
                '--if-unchanged' 'Change nothing unless FILE is still the one with this digest; FILE may be left out where only one file changes, and a relative one lies in the Hermes home.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'completion status'
            printf '%s\t%s\n' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'completion uninstall'
            printf '%s\t%s\n' \
                '--dry-run' 'Say what would change; change nothing.' \
                '--diff' 'Show the change line by line.' \
                '--if-unchanged' 'Change nothing unless FILE is still the one with this digest; FILE may be left out where only one file changes, and a relative one lies in the Hermes home.' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'man'
            printf '%s\t%s\n' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'man show'
            printf '%s\t%s\n' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'man path'
            printf '%s\t%s\n' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'schema'
            printf '%s\t%s\n' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'schema list'
            printf '%s\t%s\n' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
        case 'schema show'
            printf '%s\t%s\n' \
                '-p' 'Hermes profile to work on.' \
                '--profile' 'Hermes profile to work on.' \
                '--hermes-home' 'Hermes home to work on, instead of the one that `hermes` would use.' \
                '--json' 'Answer with one JSON document.' \
                '--plain' 'Answer with tab-separated records, as into a pipe.' \
                '--no-input' 'Never ask; a missing answer is an error.' \
                '-y' 'Consent to what would be asked.' \
                '--yes' 'Consent to what would be asked.' \
                '-q' 'Answer only; no progress and no advice.' \
                '--quiet' 'Answer only; no progress and no advice.' \
                '-v' 'Say more on stderr.' \
                '--verbose' 'Say more on stderr.' \
                '--color' 'When to use colour.' \
                '-h' 'Show this message and exit.' \
                '--help' 'Show this message and exit.'
    end
end

function __canon_ops_takes
    switch "$argv[1]"
        case '* --source' '* --allowed-users' '* --if-unchanged' '* --base-url' '* --stream-url' '* --rtdb-url' '* --firebase-api-key' '* --agent-name' '* --description' '* --owner-phone' '* --api-key-env' '* --wait' '* --timeout' '* --from-env' '* --since' '* --readers' '* -n' '* --last' '* --watch' '* --conversation' '* --jobs' '* --every' '* --within' '* --exec' '* --acknowledge' '* --session' '* --lines' '* --grep' '* --message' '* --answer' '* --prompt' '* --question' '* --port' '* --stream-port' '* --fault' '* --admin-port' '* --default-answer' 'host show --python'
            echo 'any'
        case '* --agent-id'
            echo 'ask agent-id'
        case '* --canon-profile' '* --use-profile'
            echo 'ask canon-profile'
        case '* -p' '* --profile'
            echo 'ask hermes-profile'
        case '* --api-key-file' '* --answers' '* --save-answers' '* --from-file' '* -o' '* --output' '* --bundle' '* --ready-file' 'install --python' 'upgrade --python' 'rollback --python' 'uninstall --python' 'status --python' 'doctor --python' 'gateway restart --python' 'demo --python'
            echo 'files'
        case '* --hermes-home'
            echo 'folders'
        case '* --decision'
            echo 'words allow deny'
        case '* --color'
            echo 'words auto always never'
        case '* --type'
            echo 'words auto str int float bool null json'
        case 'logs --platform'
            echo 'words borgee canon'
        case 'install --platform' 'host show --platform' 'creds test --platform' 'creds move --platform' 'creds remove --platform'
            echo 'words canon borgee'
        case '* --environment'
            echo 'words canon-prod-v1 canon-dev-v1'
        case '* --state'
            echo 'words creating pending consuming resolved expired orphaned'
        case '* --level'
            echo 'words debug info warning error critical'
        case '* --store'
            echo 'words file keyring'
        case '* --file'
            echo 'words gateway agent errors'
        case '* --area'
            echo 'words host plugin config env platform gateway settings creds registration net fs completion canon approvals borgee probe'
        case '* --only' '* --skip'
            echo 'words host.found host.version host.python host.layout host.command host.contract plugin.installed plugin.version plugin.owner plugin.entry_point plugin.import plugin.enabled plugin.denied config.parse env.parse platform.enabled gateway.multiplex config.interrupted config.comments_lost config.tabs config.documents config.managed config.mode config.owner config.symlink config.duplicate_key config.dropped_key config.text_list config.value config.bare_word config.null_section env.duplicate env.encoding env.readers env.mode env.shadowed settings.streaming settings.approvals_mode settings.display env.open_access creds.present creds.binding creds.accepted creds.agents_file creds.ambiguous creds.keyring creds.copies registration.pending net.proxy net.api net.stream net.tls net.clock net.environment gateway.running gateway.stale gateway.service gateway.hooks fs.space fs.network completion.current canon.inbox canon.outbox approvals.registry approvals.lease approvals.expiring approvals.wake borgee.plugin borgee.contract borgee.config borgee.key borgee.sessions borgee.busy_mode borgee.streaming borgee.gateway borgee.inbox borgee.quarantine borgee.locks borgee.server probe.live probe.ready'
        case '* --severity-min'
            echo 'words info warning error'
        case '* --format'
            echo 'words json csv'
        case '* --to'
            echo 'words keyring file'
        case '* --echo'
            echo 'words no before after'
        case '* --status'
            echo 'words pending processing completed failed in_doubt quarantined'
        case '* --needs'
            echo 'words reconcile wake nothing'
        case '* --way'
            echo 'words register use-profile key'
    end
end

function __canon_ops_argument
    switch "$argv[1]"
        case 'install *'
            echo 'words canon borgee'
        case 'uninstall *'
            echo 'words canon borgee'
        case 'config get 1'
            echo 'ask config-key'
        case 'config set 1'
            echo 'ask config-key'
        case 'config set 2'
            echo 'any'
        case 'config unset 1'
            echo 'ask config-key'
        case 'config add 1'
            echo 'ask config-key'
        case 'config add 2'
            echo 'any'
        case 'config remove 1'
            echo 'ask config-key'
        case 'config remove 2'
            echo 'any'
        case 'config list *'
            echo 'words canon borgee'
        case 'config diff 1'
            echo 'any'
        case 'config recommend *'
            echo 'words canon borgee'
        case 'env get 1'
            echo 'ask variable'
        case 'env set 1'
            echo 'ask variable'
        case 'env set 2'
            echo 'any'
        case 'env unset 1'
            echo 'ask variable'
        case 'profile show 1'
            echo 'ask canon-profile'
        case 'profile bind 1'
            echo 'ask canon-profile'
        case 'profile cancel 1'
            echo 'ask registration'
        case 'profile migrate 1'
            echo 'ask canon-profile'
        case 'profile export *'
            echo 'ask canon-profile'
        case 'profile import 1'
            echo 'files'
        case 'profile import *'
            echo 'ask canon-profile'
        case 'creds list *'
            echo 'words canon borgee'
        case 'preferences set 1'
            echo 'words keyring.store keyring.use history.entries history.days lock.timeout'
        case 'preferences set 2'
            echo 'any'
        case 'preferences unset 1'
            echo 'words keyring.store keyring.use history.entries history.days lock.timeout'
        case 'history show 1'
            echo 'any'
        case 'undo 1'
            echo 'any'
        case 'approvals show 1'
            echo 'any'
        case 'approvals reconcile *'
            echo 'any'
        case 'approvals abandon *'
            echo 'any'
        case 'approvals audit *'
            echo 'any'
        case 'inbox show 1'
            echo 'any'
        case 'inbox discard 1'
            echo 'any'
        case 'inbox requeue 1'
            echo 'any'
        case 'outbox show 1'
            echo 'any'
        case 'outbox retry 1'
            echo 'any'
        case 'outbox discard 1'
            echo 'any'
        case 'explain 1'
            echo 'any'
        case 'completion show 1'
            echo 'words bash zsh fish'
        case 'completion install 1'
            echo 'words bash zsh fish'
        case 'completion uninstall 1'
            echo 'words bash zsh fish'
        case 'man show *'
            echo 'words abandon add approvals audit bind borgee cancel canon completion config creds demo diff discard doctor edit env explain export finish gateway get heal history host import inbox install lint list logs man migrate model move outbox path preferences profile prune recommend reconcile remove requeue restart retry rollback sandbox schema set setup show snapshot stats status test unbind undo uninstall unset upgrade validate verify version watch'
        case 'schema show 1'
            echo 'words canon-ops.install/1 canon-ops.setup.canon/1 canon-ops.setup.borgee/1 canon-ops.upgrade/1 canon-ops.rollback/1 canon-ops.uninstall/1 canon-ops.host.show/1 canon-ops.host.list/1 canon-ops.config.get/1 canon-ops.config.set/1 canon-ops.config.unset/1 canon-ops.config.add/1 canon-ops.config.remove/1 canon-ops.config.list/1 canon-ops.config.path/1 canon-ops.config.validate/1 canon-ops.config.diff/1 canon-ops.config.edit/1 canon-ops.config.recommend/1 canon-ops.config.snapshot/1 canon-ops.config.heal/1 canon-ops.env.list/1 canon-ops.env.get/1 canon-ops.env.set/1 canon-ops.env.unset/1 canon-ops.env.lint/1 canon-ops.profile.list/1 canon-ops.profile.show/1 canon-ops.profile.bind/1 canon-ops.profile.unbind/1 canon-ops.profile.cancel/1 canon-ops.profile.migrate/1 canon-ops.profile.export/1 canon-ops.profile.import/1 canon-ops.creds.list/1 canon-ops.creds.test/1 canon-ops.creds.move/1 canon-ops.creds.remove/1 canon-ops.creds.audit/1 canon-ops.preferences.list/1 canon-ops.preferences.set/1 canon-ops.preferences.unset/1 canon-ops.history.list/1 canon-ops.history.show/1 canon-ops.history.finish/1 canon-ops.undo/1 canon-ops.status/1 canon-ops.status.event/1 canon-ops.approvals.list/1 canon-ops.approvals.show/1 canon-ops.approvals.reconcile/1 canon-ops.approvals.abandon/1 canon-ops.approvals.watch.event/1 canon-ops.approvals.audit/1 canon-ops.approvals.verify/1 canon-ops.approvals.export/1 canon-ops.approvals.prune/1 canon-ops.inbox.list/1 canon-ops.inbox.show/1 canon-ops.inbox.stats/1 canon-ops.inbox.discard/1 canon-ops.inbox.requeue/1 canon-ops.outbox.list/1 canon-ops.outbox.show/1 canon-ops.outbox.retry/1 canon-ops.outbox.discard/1 canon-ops.doctor/1 canon-ops.explain/1 canon-ops.gateway.status/1 canon-ops.gateway.restart/1 canon-ops.logs/1 canon-ops.logs.event/1 canon-ops.version/1 canon-ops.demo/1 canon-ops.sandbox.canon.event/1 canon-ops.sandbox.borgee.event/1 canon-ops.sandbox.model.event/1 canon-ops.completion.show/1 canon-ops.completion.install/1 canon-ops.completion.status/1 canon-ops.completion.uninstall/1 canon-ops.man.show/1 canon-ops.man.path/1 canon-ops.schema.list/1 canon-ops.schema.show/1'
    end
end

complete -c canon-ops -e
complete -c canon-ops -f -a '(__canon_ops)'
complete -c canon-hermes -e
complete -c canon-hermes -f -a '(__canon_ops)'
complete -c canon-hermes-plugin -e
complete -c canon-hermes-plugin -f -a '(__canon_ops)'
