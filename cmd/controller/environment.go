package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// fromEnvironment sets the flags that are not given.
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
