# The order in which clusters get a commit. The directory of each cluster calls this module.

rings {
  ring "dev" {
    clusters = ["dev"]
    soak     = "30m"
  }

  ring "rest" {
    clusters = ["eu-1", "us-1"]
  }
}
