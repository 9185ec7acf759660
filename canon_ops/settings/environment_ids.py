"""The ids of Canon's environments, for those who need the names and not the endpoints: tables, completions."""

__all__ = ["DEFAULT_ENVIRONMENT_ID", "ENVIRONMENT_IDS"]

DEFAULT_ENVIRONMENT_ID = "canon-prod-v1"
ENVIRONMENT_IDS = (DEFAULT_ENVIRONMENT_ID, "canon-dev-v1")
