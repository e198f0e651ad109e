package inplace_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/lkeplan/lkeplan/linode/inplace"
)

func TestPodUsesALabelOfNodes(t *testing.T) {
	for spec, want := range map[string]string{
		`{}`:                                     "",
		`{nodeSelector: {example.com/team: a}}`:  "its nodeSelector",
		`{nodeSelector: {example.com/teams: a}}`: "",
		`{topologySpreadConstraints: [{topologyKey: example.com/team, whenUnsatisfiable: ScheduleAnyway}]}`: "its topology spread",
		`{affinity: {}}`: "",
		`{affinity: {nodeAffinity: {}, podAffinity: {}, podAntiAffinity: {}}}`: "",
		`{affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{}, {matchExpressions: [
			{key: example.com/team, operator: NotIn, values: [a]}]}]}}}}`: "its node affinity",
		`{affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{preference: {matchExpressions: [
			{key: example.com/team, operator: DoesNotExist}]}}]}}}`: "its node affinity",
		`{affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [
			{key: example.com/team, operator: In, values: [a]}]}]}}}}`: "",
		`{affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: example.com/team}]}}}`: "its pod affinity",
		`{affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [
			{podAffinityTerm: {topologyKey: example.com/team}}]}}}`: "its pod affinity",
		`{affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [
			{podAffinityTerm: {topologyKey: example.com/team}}]}}}`: "its pod affinity",
		`{affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: example.com/team}]}}}`: "its pod affinity",
	} {
		var pod corev1.PodSpec
		if err := yaml.UnmarshalStrict([]byte(strings.ReplaceAll(spec, "\t", " ")), &pod); err != nil {
			t.Fatalf("%s: %v", spec, err)
		}
		if got := inplace.Uses(pod)["example.com/team"]; got != want {
			t.Errorf("%s: %q, want %q", spec, got, want)
		}
	}
}
