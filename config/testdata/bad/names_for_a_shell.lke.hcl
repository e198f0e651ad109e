guards {
  freeze "a; touch b" { # want: Invalid name: The name of a freeze block contains letters, digits, dashes and underscores, not "a; touch b".
    schedule = "0 16 * * fri"
    duration = "62h"
  }

  freeze "a,b" { # want: Invalid name: The name of a freeze block contains letters, digits, dashes and underscores, not "a,b".
    schedule = "0 16 * * fri"
    duration = "62h"
  }

  window "" { # want: Invalid name: The name of a window block contains letters, digits, dashes and underscores, not "".
    schedule = "0 9 * * mon-fri"
    duration = "8h"
  }

  window "*" { # want: Invalid name: The name of a window block contains letters, digits, dashes and underscores, not "*".
    schedule = "0 9 * * mon-fri"
    duration = "8h"
  }

  window "2026-früh" {
    schedule = "0 9 * * mon-fri"
    duration = "8h"
  }
}

policy "$(id)" { # want: Invalid name: The name of a policy block contains letters, digits, dashes and underscores, not "$(id)".
  condition     = plan.objects.created < 9
  error_message = "too many"
}
