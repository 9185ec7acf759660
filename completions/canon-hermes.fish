# fish completion for canon-hermes. Generated from the command tree; `make generate` writes it.
source (string replace -r '[^/]*$' '' -- (status filename))canon-ops.fish
