lkeplan {
  required_version = "latest" # want: Invalid version constraint: required_version must have a form such as "~> 0.3" or ">= 0.2, < 1.0": "latest" is not a version.
}
