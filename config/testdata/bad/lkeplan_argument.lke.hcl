lkeplan {
  require_version = "~> 0.3" # want: Unsupported argument: An argument named "require_version" is not expected here. Did you mean "required_version"?
}
