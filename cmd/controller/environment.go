package main

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ignored are the variables of karpenter-provider-linode and Karpenter's operator that
// have no effect here, with the reason.
var ignored = map[string]string{
	"CLUSTER_CA_BUNDLE":            "LKE nodes do not need it, and with --mode instance it is read from the cluster",
	"DISABLE_DRY_RUN":              "a LinodeNodeClass is checked without a dry run",
	"DISABLE_LEADER_ELECTION":      "see --leader-elect",
	"DISABLE_WEBHOOK":              "there is no webhook",
	"KARPENTER_SERVICE":            "there is no webhook",
	"LINODE_API_VERSION":           "the version is v4",
	"LINODE_DEBUG":                 "see --log-level; bodies of requests are never logged",
	"LKE_CREATE_DEADLINE":          "no call waits for LKE",
	"LKE_RETRY_DELAY":              "the Linode API returns the time of the next try",
	"LKE_TAG_VERIFICATION_TIMEOUT": "LKE pools are found in the list of LKE",
	"LOG_ERROR_OUTPUT_PATHS":       "the log goes to stderr",
	"LOG_OUTPUT_PATHS":             "the log goes to stderr",
	"MEMORY_LIMIT":                 "see GOMEMLIMIT, which Go reads",
	"MIN_VALUES_POLICY":            "it is Strict",
	"PREFERENCE_POLICY":            "it is Respect",
	"VM_MEMORY_OVERHEAD_PERCENT":   "it is known for each plan type, and learned from nodes",
	"WEBHOOK_METRICS_PORT":         "there is no webhook",
	"WEBHOOK_PORT":                 "there is no webhook",
}

// warnIgnored logs each variable that is set and has no effect, with the reason.
func warnIgnored(log *slog.Logger, getenv func(string) string) {
	for _, name := range slices.Sorted(maps.Keys(ignored)) {
		if getenv(name) != "" {
			log.Warn("an environment variable has no effect; remove it", "variable", name, "because", ignored[name])
		}
	}
}

// fromEnvironment sets the flags that are not given from the variables of
// karpenter-provider-linode and Karpenter's operator.
func (s *settings) fromEnvironment(getenv func(string) string, given func(flag string) bool) error {
	text := func(flag, variable string, into *string, before string) {
		if value := getenv(variable); value != "" && !given(flag) {
			*into = before + value
		}
	}
	text("metrics-bind-address", "METRICS_PORT", &s.MetricsAddress, ":")
	text("health-probe-bind-address", "HEALTH_PROBE_PORT", &s.ProbeAddress, ":")
	text("log-level", "LOG_LEVEL", &s.logLevel, "")
	text("mode", "KARPENTER_MODE", &s.mode, "")
	text("cluster-endpoint", "CLUSTER_ENDPOINT", &s.ClusterEndpoint, "")
	text("region", "CLUSTER_REGION", &s.Region, "")
	text("region", "LINODE_REGION", &s.Region, "")
	if value := getenv("FEATURE_GATES"); value != "" && !given("feature-gates") {
		s.gates = strings.Split(value, ",")
	}
	for _, d := range []struct {
		flag, variable string
		into           *time.Duration
	}{
		{"batch-idle-duration", "BATCH_IDLE_DURATION", &s.Karpenter.BatchIdle},
		{"batch-max-duration", "BATCH_MAX_DURATION", &s.Karpenter.BatchMax},
	} {
		value := getenv(d.variable)
		if value == "" || given(d.flag) {
			continue
		}
		parsed, err := time.ParseDuration(value)
		if err != nil || parsed <= 0 {
			return fmt.Errorf("%s is %q; it must be a time such as 10s or 1m", d.variable, value)
		}
		*d.into = parsed
	}
	if value := getenv("LINODE_CLIENT_TIMEOUT"); value != "" {
		seconds, err := strconv.Atoi(value)
		if err != nil || seconds <= 0 {
			return fmt.Errorf("LINODE_CLIENT_TIMEOUT is %q; it must be a number of seconds", value)
		}
		s.LinodeTimeout = time.Duration(seconds) * time.Second
	}
	return nil
}
