# bash completion for canon-ops. Generated from the command tree; `make generate` writes it.

_canon_ops() {
    local cur=${COMP_WORDS[COMP_CWORD]} path="" count=0 plain="" takes="" reply="" word i
    COMPREPLY=()
    [[ $cur == "=" ]] && cur=""  # readline parts --option=value in three
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ $word == "=" ]]; then
            continue
        elif [[ -n $takes ]]; then
            takes=""
        elif [[ -n $plain ]]; then
            count=$((count + 1))
        elif [[ $word == "--" ]]; then
            plain=1
        elif [[ $word == -* ]]; then
            _canon_ops_default
            path=${path:+$path${reply:+ }}$reply
            _canon_ops_takes "$word"
        else
            _canon_ops_members
            case " $reply " in
                *" $word "*) path=${path:+$path }$word ;;
                *) count=$((count + 1)) ;;
            esac
        fi
    done
    if [[ -n $takes ]]; then
        _canon_ops_offer $takes
    elif [[ $cur == -* && -z $plain ]]; then
        _canon_ops_options
        _canon_ops_filter $reply
        _canon_ops_default
        if [[ -n $reply ]]; then
            path="$path $reply"
            _canon_ops_options
            _canon_ops_filter $reply
        fi
    else
        _canon_ops_members
        if [[ -n $reply ]]; then
            [[ $count -gt 0 ]] || _canon_ops_filter $reply
        else
            _canon_ops_argument $((count + 1))
            _canon_ops_offer $takes
        fi
    fi
}

# _canon_ops_offer KIND WORD...: the candidates for one value.
_canon_ops_offer() {
    local kind=$1 line program=${COMP_WORDS[0]}
    [[ $# -gt 0 ]] && shift
    case $kind in
        words) _canon_ops_filter "$@" ;;
        ask)
            [[ $program == "~/"* ]] && program=$HOME/${program#"~/"}
            while IFS= read -r line; do
                _canon_ops_filter "${line%%$'\t'*}"
            done < <("$program" __complete "$1" "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)
            ;;
        files | folders)
            type compopt >/dev/null 2>&1 && compopt -o filenames 2>/dev/null
            while IFS= read -r line; do
                COMPREPLY+=("$line")
            done < <([[ $kind == files ]] && compgen -f -- "$cur" || compgen -d -- "$cur")
            ;;
    esac
}

# _canon_ops_filter WORD...: keep those that begin with what was typed, quoted as the shell needs them.
_canon_ops_filter() {
    local candidate quoted
    for candidate; do
        if [[ $candidate == "$cur"* ]]; then
            printf -v quoted %q "$candidate"
            COMPREPLY+=("$quoted")
        fi
    done
}

_canon_ops_members() {
    reply=""
    case "$path" in
        '') reply='install setup upgrade rollback uninstall host config env profile creds preferences history undo status approvals inbox outbox doctor explain gateway logs version demo sandbox completion man schema' ;;
        'setup') reply='canon borgee' ;;
        'host') reply='show list' ;;
        'config') reply='get set unset add remove list path validate diff edit recommend snapshot heal' ;;
        'env') reply='list get set unset lint' ;;
        'profile') reply='list show bind unbind cancel migrate export import' ;;
        'creds') reply='list test move remove audit' ;;
        'preferences') reply='list set unset' ;;
        'history') reply='list show finish' ;;
        'approvals') reply='list show reconcile abandon watch audit verify export prune' ;;
        'inbox') reply='list show stats discard requeue' ;;
        'outbox') reply='list show retry discard' ;;
        'gateway') reply='status restart' ;;
        'sandbox') reply='canon borgee model' ;;
        'completion') reply='show install status uninstall' ;;
        'man') reply='show path' ;;
        'schema') reply='list show' ;;
    esac
}

_canon_ops_default() {
    reply=""
    case "$path" in
        'setup') reply='canon' ;;
    esac
}

_canon_ops_options() {
    reply=""
    case "$path" in
        '') reply='-h --help --version' ;;
        'install') reply='--platform --setup --python --source --skip-package --allow-all-users --no-allow-all-users --allowed-users --dry-run --diff --if-unchanged -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'setup') reply='-h --help' ;;
        'setup canon') reply='--environment --way --base-url --stream-url --rtdb-url --firebase-api-key --agent-name --description --owner-phone --canon-profile --agent-id --use-profile --api-key-stdin --api-key-file --api-key-env --store --start-over --wait --answers --save-answers --dry-run --diff --if-unchanged --timeout -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'setup borgee') reply='--base-url --allow-insecure-loopback --no-allow-insecure-loopback --agent-id --keep-key --new-key --api-key-stdin --api-key-file --api-key-env --store --change-shared --no-change-shared --answers --save-answers --dry-run --diff --if-unchanged --timeout -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'upgrade') reply='--python --source --all-profiles --dry-run --diff --if-unchanged -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'rollback') reply='--python --skip-package --dry-run --diff --if-unchanged -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'uninstall') reply='--python --skip-package --purge --dry-run --diff --if-unchanged -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'host') reply='-h --help' ;;
        'host show') reply='--python --platform -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'host list') reply='-p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'config') reply='-h --help' ;;
        'config get') reply='-p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'config set') reply='--stdin --from-file --from-env --type --allow-reformat --dry-run --diff --if-unchanged -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'config unset') reply='--allow-reformat --dry-run --diff --if-unchanged -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'config add') reply='--type --convert --allow-reformat --dry-run --diff --if-unchanged -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'config remove') reply='--type --convert --allow-reformat --dry-run --diff --if-unchanged -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'config list') reply='--all -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'config path') reply='-p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'config validate') reply='--strict -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'config diff') reply='--values -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'config edit') reply='--dry-run --diff --if-unchanged -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'config recommend') reply='--dry-run --diff --if-unchanged -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'config snapshot') reply='--dry-run --diff --if-unchanged -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'config heal') reply='--since --dry-run --diff --if-unchanged -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'env') reply='-h --help' ;;
        'env list') reply='--all -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'env get') reply='--reveal -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'env set') reply='--stdin --from-file --from-env --readers --dry-run --diff --if-unchanged -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'env unset') reply='--dry-run --diff --if-unchanged -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'env lint') reply='--fix --dry-run --diff --if-unchanged -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'profile') reply='-h --help' ;;
        'profile list') reply='-p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'profile show') reply='-p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'profile bind') reply='--dry-run --diff --if-unchanged -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'profile unbind') reply='--dry-run --diff --if-unchanged -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'profile cancel') reply='--dry-run --diff --if-unchanged -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'profile migrate') reply='--environment --base-url --stream-url --rtdb-url --firebase-api-key --dry-run --diff --if-unchanged --timeout -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'profile export') reply='-o --output --include-secrets --replace --dry-run --diff --if-unchanged -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'profile import') reply='--replace --dry-run --diff --if-unchanged -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'creds') reply='-h --help' ;;
        'creds list') reply='-p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'creds test') reply='--canon-profile --platform --timeout -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'creds move') reply='--to --canon-profile --platform --dry-run --diff --if-unchanged -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'creds remove') reply='--canon-profile --platform --whole-profile --dry-run --diff --if-unchanged -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'creds audit') reply='--strict -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'preferences') reply='-h --help' ;;
        'preferences list') reply='-p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'preferences set') reply='--dry-run --diff --if-unchanged -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'preferences unset') reply='--dry-run --diff --if-unchanged -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'history') reply='-h --help' ;;
        'history list') reply='-n --last -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'history show') reply='-p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'history finish') reply='--dry-run --diff --if-unchanged -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'undo') reply='--dry-run --diff --if-unchanged -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'status') reply='--watch --all-profiles --python -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'approvals') reply='-h --help' ;;
        'approvals list') reply='--state --needs --conversation --since -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'approvals show') reply='-p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'approvals reconcile') reply='--apply --jobs --timeout -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'approvals abandon') reply='--apply --timeout -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'approvals watch') reply='--every --within --exec -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'approvals audit') reply='--acknowledge -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'approvals verify') reply='--quarantine -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'approvals export') reply='--format --state --needs --conversation --since -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'approvals prune') reply='--dry-run -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'inbox') reply='-h --help' ;;
        'inbox list') reply='--status --session -n --last -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'inbox show') reply='-p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'inbox stats') reply='-p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'inbox discard') reply='--dry-run -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'inbox requeue') reply='--confirm-duplicate-side-effect-risk --dry-run -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'outbox') reply='-h --help' ;;
        'outbox list') reply='-p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'outbox show') reply='-p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'outbox retry') reply='--dry-run -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'outbox discard') reply='--dry-run -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'doctor') reply='--only --skip --area --list --severity-min --strict --offline --fix --live --bundle --all-profiles --python --dry-run --diff --if-unchanged --timeout -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'explain') reply='-p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'gateway') reply='-h --help' ;;
        'gateway status') reply='-p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'gateway restart') reply='--wait --python -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'logs') reply='-f --follow -n --lines --file --level --grep --platform -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'version') reply='-p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'demo') reply='--python --message --answer --prompt --question --decision --keep -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'sandbox') reply='-h --help' ;;
        'sandbox canon') reply='--port --stream-port --environment --auto-approve --fault --ready-file -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'sandbox borgee') reply='--port --admin-port --no-mention --echo --fault --ready-file -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'sandbox model') reply='--port --answer --default-answer --ready-file -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'completion') reply='-h --help' ;;
        'completion show') reply='-p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'completion install') reply='--rc --dry-run --diff --if-unchanged -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'completion status') reply='-p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'completion uninstall') reply='--dry-run --diff --if-unchanged -p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'man') reply='-h --help' ;;
        'man show') reply='-p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'man path') reply='-p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'schema') reply='-h --help' ;;
        'schema list') reply='-p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
        'schema show') reply='-p --profile --hermes-home --json --plain --no-input -y --yes -q --quiet -v --verbose --color -h --help' ;;
    esac
}

_canon_ops_takes() {
    takes=""
    case "$path $1" in
        *' --source' | *' --allowed-users' | *' --if-unchanged' | *' --base-url' | *' --stream-url' | *' --rtdb-url' | *' --firebase-api-key' | *' --agent-name' | *' --description' | *' --owner-phone' | *' --api-key-env' | *' --wait' | *' --timeout' | *' --from-env' | *' --since' | *' --readers' | *' -n' | *' --last' | *' --watch' | *' --conversation' | *' --jobs' | *' --every' | *' --within' | *' --exec' | *' --acknowledge' | *' --session' | *' --lines' | *' --grep' | *' --message' | *' --answer' | *' --prompt' | *' --question' | *' --port' | *' --stream-port' | *' --fault' | *' --admin-port' | *' --default-answer' | 'host show --python') takes='any' ;;
        *' --agent-id') takes='ask agent-id' ;;
        *' --canon-profile' | *' --use-profile') takes='ask canon-profile' ;;
        *' -p' | *' --profile') takes='ask hermes-profile' ;;
        *' --api-key-file' | *' --answers' | *' --save-answers' | *' --from-file' | *' -o' | *' --output' | *' --bundle' | *' --ready-file' | 'install --python' | 'upgrade --python' | 'rollback --python' | 'uninstall --python' | 'status --python' | 'doctor --python' | 'gateway restart --python' | 'demo --python') takes='files' ;;
        *' --hermes-home') takes='folders' ;;
        *' --decision') takes='words allow deny' ;;
        *' --color') takes='words auto always never' ;;
        *' --type') takes='words auto str int float bool null json' ;;
        'logs --platform') takes='words borgee canon' ;;
        'install --platform' | 'host show --platform' | 'creds test --platform' | 'creds move --platform' | 'creds remove --platform') takes='words canon borgee' ;;
        *' --environment') takes='words canon-prod-v1 canon-dev-v1' ;;
        *' --state') takes='words creating pending consuming resolved expired orphaned' ;;
        *' --level') takes='words debug info warning error critical' ;;
        *' --store') takes='words file keyring' ;;
        *' --file') takes='words gateway agent errors' ;;
        *' --area') takes='words host plugin config env platform gateway settings creds registration net fs completion canon approvals borgee probe' ;;
        *' --only' | *' --skip') takes='words host.found host.version host.python host.layout host.command host.contract plugin.installed plugin.version plugin.owner plugin.entry_point plugin.import plugin.enabled plugin.denied config.parse env.parse platform.enabled gateway.multiplex config.interrupted config.comments_lost config.tabs config.documents config.managed config.mode config.owner config.symlink config.duplicate_key config.dropped_key config.text_list config.value config.bare_word config.null_section env.duplicate env.encoding env.readers env.mode env.shadowed settings.streaming settings.approvals_mode settings.display env.open_access creds.present creds.binding creds.accepted creds.agents_file creds.ambiguous creds.keyring creds.copies registration.pending net.proxy net.api net.stream net.tls net.clock net.environment gateway.running gateway.stale gateway.service gateway.hooks fs.space fs.network completion.current canon.inbox canon.outbox approvals.registry approvals.lease approvals.expiring approvals.wake borgee.plugin borgee.contract borgee.config borgee.key borgee.sessions borgee.busy_mode borgee.streaming borgee.gateway borgee.inbox borgee.quarantine borgee.locks borgee.server probe.live probe.ready' ;;
        *' --severity-min') takes='words info warning error' ;;
        *' --format') takes='words json csv' ;;
        *' --to') takes='words keyring file' ;;
        *' --echo') takes='words no before after' ;;
        *' --status') takes='words pending processing completed failed in_doubt quarantined' ;;
        *' --needs') takes='words reconcile wake nothing' ;;
        *' --way') takes='words register use-profile key' ;;
    esac
}

_canon_ops_argument() {
    takes=""
    case "$path $1" in
        'install '*) takes='words canon borgee' ;;
        'uninstall '*) takes='words canon borgee' ;;
        'config get 1') takes='ask config-key' ;;
        'config set 1') takes='ask config-key' ;;
        'config set 2') takes='any' ;;
        'config unset 1') takes='ask config-key' ;;
        'config add 1') takes='ask config-key' ;;
        'config add 2') takes='any' ;;
        'config remove 1') takes='ask config-key' ;;
        'config remove 2') takes='any' ;;
        'config list '*) takes='words canon borgee' ;;
        'config diff 1') takes='any' ;;
        'config recommend '*) takes='words canon borgee' ;;
        'env get 1') takes='ask variable' ;;
        'env set 1') takes='ask variable' ;;
        'env set 2') takes='any' ;;
        'env unset 1') takes='ask variable' ;;
        'profile show 1') takes='ask canon-profile' ;;
        'profile bind 1') takes='ask canon-profile' ;;
        'profile cancel 1') takes='ask registration' ;;
        'profile migrate 1') takes='ask canon-profile' ;;
        'profile export '*) takes='ask canon-profile' ;;
        'profile import 1') takes='files' ;;
        'profile import '*) takes='ask canon-profile' ;;
        'creds list '*) takes='words canon borgee' ;;
        'preferences set 1') takes='words keyring.store keyring.use history.entries history.days lock.timeout' ;;
        'preferences set 2') takes='any' ;;
        'preferences unset 1') takes='words keyring.store keyring.use history.entries history.days lock.timeout' ;;
        'history show 1') takes='any' ;;
        'undo 1') takes='any' ;;
        'approvals show 1') takes='any' ;;
        'approvals reconcile '*) takes='any' ;;
        'approvals abandon '*) takes='any' ;;
        'approvals audit '*) takes='any' ;;
        'inbox show 1') takes='any' ;;
        'inbox discard 1') takes='any' ;;
        'inbox requeue 1') takes='any' ;;
        'outbox show 1') takes='any' ;;
        'outbox retry 1') takes='any' ;;
        'outbox discard 1') takes='any' ;;
        'explain 1') takes='any' ;;
        'completion show 1') takes='words bash zsh fish' ;;
        'completion install 1') takes='words bash zsh fish' ;;
        'completion uninstall 1') takes='words bash zsh fish' ;;
        'man show '*) takes='words abandon add approvals audit bind borgee cancel canon completion config creds demo diff discard doctor edit env explain export finish gateway get heal history host import inbox install lint list logs man migrate model move outbox path preferences profile prune recommend reconcile remove requeue restart retry rollback sandbox schema set setup show snapshot stats status test unbind undo uninstall unset upgrade validate verify version watch' ;;
        'schema show 1') takes='words canon-ops.install/1 canon-ops.setup.canon/1 canon-ops.setup.borgee/1 canon-ops.upgrade/1 canon-ops.rollback/1 canon-ops.uninstall/1 canon-ops.host.show/1 canon-ops.host.list/1 canon-ops.config.get/1 canon-ops.config.set/1 canon-ops.config.unset/1 canon-ops.config.add/1 canon-ops.config.remove/1 canon-ops.config.list/1 canon-ops.config.path/1 canon-ops.config.validate/1 canon-ops.config.diff/1 canon-ops.config.edit/1 canon-ops.config.recommend/1 canon-ops.config.snapshot/1 canon-ops.config.heal/1 canon-ops.env.list/1 canon-ops.env.get/1 canon-ops.env.set/1 canon-ops.env.unset/1 canon-ops.env.lint/1 canon-ops.profile.list/1 canon-ops.profile.show/1 canon-ops.profile.bind/1 canon-ops.profile.unbind/1 canon-ops.profile.cancel/1 canon-ops.profile.migrate/1 canon-ops.profile.export/1 canon-ops.profile.import/1 canon-ops.creds.list/1 canon-ops.creds.test/1 canon-ops.creds.move/1 canon-ops.creds.remove/1 canon-ops.creds.audit/1 canon-ops.preferences.list/1 canon-ops.preferences.set/1 canon-ops.preferences.unset/1 canon-ops.history.list/1 canon-ops.history.show/1 canon-ops.history.finish/1 canon-ops.undo/1 canon-ops.status/1 canon-ops.status.event/1 canon-ops.approvals.list/1 canon-ops.approvals.show/1 canon-ops.approvals.reconcile/1 canon-ops.approvals.abandon/1 canon-ops.approvals.watch.event/1 canon-ops.approvals.audit/1 canon-ops.approvals.verify/1 canon-ops.approvals.export/1 canon-ops.approvals.prune/1 canon-ops.inbox.list/1 canon-ops.inbox.show/1 canon-ops.inbox.stats/1 canon-ops.inbox.discard/1 canon-ops.inbox.requeue/1 canon-ops.outbox.list/1 canon-ops.outbox.show/1 canon-ops.outbox.retry/1 canon-ops.outbox.discard/1 canon-ops.doctor/1 canon-ops.explain/1 canon-ops.gateway.status/1 canon-ops.gateway.restart/1 canon-ops.logs/1 canon-ops.logs.event/1 canon-ops.version/1 canon-ops.demo/1 canon-ops.sandbox.canon.event/1 canon-ops.sandbox.borgee.event/1 canon-ops.sandbox.model.event/1 canon-ops.completion.show/1 canon-ops.completion.install/1 canon-ops.completion.status/1 canon-ops.completion.uninstall/1 canon-ops.man.show/1 canon-ops.man.path/1 canon-ops.schema.list/1 canon-ops.schema.show/1' ;;
    esac
}

complete -F _canon_ops canon-ops canon-hermes canon-hermes-plugin
