lkeplan {
  required_version = "latest" # want: Invalid version constraint: required_version is written like "~> 0.3" or ">= 0.2, < 1.0": "latest" is not a version.
}
