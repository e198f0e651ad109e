cluster {
  name   = "sandbox"
  region = "us-ord"
}

# The first two minutes of each paid hour are the only ones in which nodes stay.
node_class "late" {
  consolidation {
    before_paid_hour_ends = "58m"
  }
}

node_class "default" {}

pool "late" {
  node_class   = node_class.late
  weight       = 10
  requirements = { class = "standard", cpu = 4 }

  disruption {
    consolidate_after = "5s" # lkeplan:ignore consolidate-before-hour tests do not wait

    budget {
      nodes = "100%"
    }
  }
}

pool "usual" {
  node_class   = node_class.default
  requirements = { class = "standard", cpu = 4 }

  disruption {
    consolidate_after = "5s" # lkeplan:ignore consolidate-before-hour tests do not wait

    budget {
      nodes = "100%"
    }
  }
}
