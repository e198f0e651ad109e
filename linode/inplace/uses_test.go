package inplace_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/lkeplan/lkeplan/linode/inplace"
)

func TestPodUsesALabelOfNodes(t *testing.T) {
	const during = "DuringSchedulingIgnoredDuringExecution"
	words := strings.NewReplacer("KEY", "example.com/team", "REQUIRED", "required"+during, "PREFERRED", "preferred"+during)
	const node, pods = "its node affinity", "its pod affinity"
	for _, tt := range []struct{ want, spec string }{
		{"", `{}`},
		{"its nodeSelector", `{nodeSelector: {example.com/team: a}}`},
		{"", `{nodeSelector: {example.com/teams: a}}`},
		{"its topology spread", `{topologySpreadConstraints: [{topologyKey: example.com/team}]}`},
		{"", `{affinity: {}}`},
		{"", `{affinity: {nodeAffinity: {}, podAffinity: {}, podAntiAffinity: {}}}`},
		{node, `{affinity: {nodeAffinity: {REQUIRED: {nodeSelectorTerms: [{}, {matchExpressions: [{key: KEY}]}]}}}}`},
		{node, `{affinity: {nodeAffinity: {PREFERRED: [{preference: {matchExpressions: [{key: example.com/team}]}}]}}}`},
		{"", `{affinity: {nodeAffinity: {REQUIRED: {nodeSelectorTerms: [{matchFields: [{key: example.com/team}]}]}}}}`},
		{pods, `{affinity: {podAffinity: {REQUIRED: [{topologyKey: example.com/team}]}}}`},
		{pods, `{affinity: {podAffinity: {PREFERRED: [{podAffinityTerm: {topologyKey: example.com/team}}]}}}`},
		{pods, `{affinity: {podAntiAffinity: {REQUIRED: [{topologyKey: example.com/team}]}}}`},
		{pods, `{affinity: {podAntiAffinity: {PREFERRED: [{podAffinityTerm: {topologyKey: example.com/team}}]}}}`},
	} {
		spec := words.Replace(tt.spec)
		var pod corev1.PodSpec
		if err := yaml.UnmarshalStrict([]byte(spec), &pod); err != nil {
			t.Fatalf("%s: %v", spec, err)
		}
		if got := inplace.Uses(pod)["example.com/team"]; got != tt.want {
			t.Errorf("%s: %q, want %q", spec, got, tt.want)
		}
	}
}
