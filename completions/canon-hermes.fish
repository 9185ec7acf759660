# fish completion for canon-hermes. Generated from the command tree; `make generate` writes it.
source (status dirname)/canon-ops.fish
