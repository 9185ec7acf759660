# fish completion for canon-hermes-plugin. Generated from the command tree; `make generate` writes it.
source (status dirname)/canon-ops.fish
