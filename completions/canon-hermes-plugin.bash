# bash completion for canon-hermes-plugin. Generated from the command tree; `make generate` writes it.
. "${BASH_SOURCE[0]%/*}/canon-ops"
