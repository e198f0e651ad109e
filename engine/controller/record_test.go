package controller

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/lkeplan/lkeplan/linode/api"
)

// TestRecordMustMatchSettings: settings that name another cluster make the
// note worthless, and so does a note that was edited.
func TestRecordMustMatchSettings(t *testing.T) {
	noted := api.Cluster{ID: 77, Label: "prod", Region: "us-ord", Tier: "enterprise", K8sVersion: "v1.33.4+lke2"}
	tests := map[string]struct {
		cfg  Config
		edit map[string]string
		want bool
	}{
		"by its number":       {Config{ClusterID: 77}, nil, true},
		"by its label":        {Config{ClusterName: "prod"}, nil, true},
		"by both":             {Config{ClusterID: 77, ClusterName: "prod"}, nil, true},
		"another number":      {Config{ClusterID: 78}, nil, false},
		"another label":       {Config{ClusterID: 77, ClusterName: "staging"}, nil, false},
		"the tier is missing": {Config{ClusterID: 77}, map[string]string{"tier": ""}, false},
		"the ID is invalid":   {Config{ClusterID: 77}, map[string]string{"id": "x"}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := fake.NewClientBuilder().WithScheme(scheme.Scheme).Build()
			kept := record{client: c, namespace: "lkeplan-system"}
			tt.cfg.Log = slog.New(slog.DiscardHandler)
			if _, known := kept.cluster(t.Context(), tt.cfg); known {
				t.Fatal("a cluster is known before one was recorded")
			}
			older := noted
			older.K8sVersion = "v1.32.1+lke1"
			kept.keep(t.Context(), tt.cfg, older, "")
			kept.keep(t.Context(), tt.cfg, noted, "")
			if tt.edit != nil {
				var note corev1.ConfigMap
				if err := c.Get(t.Context(), client.ObjectKey{Namespace: "lkeplan-system", Name: recordName}, &note); err != nil {
					t.Fatal(err)
				}
				for key, value := range tt.edit {
					note.Data[key] = value
				}
				if err := c.Update(t.Context(), &note); err != nil {
					t.Fatal(err)
				}
			}
			got, known := kept.cluster(t.Context(), tt.cfg)
			if known != tt.want || known && got.K8sVersion+got.Region+got.Tier != "v1.33.4+lke2us-ordenterprise" {
				t.Errorf("known = %v: %+v", known, got)
			}
		})
	}
	if _, known := (record{}).cluster(t.Context(), Config{}); known {
		t.Error("without a namespace there is a record")
	}
}

// TestInstanceClusterIsRecorded: by its name, its region and the tag of its Linodes, and
// nothing is left of what was noted of LKE.
func TestInstanceClusterIsRecorded(t *testing.T) {
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).Build()
	kept, cfg := record{client: c, namespace: "lkeplan-system"}, Config{Log: slog.New(slog.DiscardHandler)}
	noted := func() map[string]string {
		var note corev1.ConfigMap
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: "lkeplan-system", Name: recordName}, &note); err != nil {
			t.Fatal(err)
		}
		return note.Data
	}
	lke := api.Cluster{ID: 77, Label: "prod", Region: "us-ord", Tier: "standard", K8sVersion: "1.34"}
	own := api.Cluster{Label: "dev", Region: "us-sea", Tier: "instance"}
	ofOwn := map[string]string{
		"id": "", "label": "dev", "region": "us-sea", "tier": "instance", "version": "", "tag": "lkeplan-id=5f",
	}
	ofLKE := map[string]string{
		"id": "77", "label": "prod", "region": "us-ord", "tier": "standard", "version": "1.34", "tag": "",
	}
	for _, tt := range []struct {
		cluster api.Cluster
		tag     string
		want    map[string]string
		known   bool
	}{{own, "lkeplan-id=5f", ofOwn, false}, {lke, "", ofLKE, true}, {own, "lkeplan-id=5f", ofOwn, false}} {
		kept.keep(t.Context(), cfg, tt.cluster, tt.tag)
		if diff := cmp.Diff(tt.want, noted()); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tt.cluster.Label, diff)
		}
		if _, known := kept.cluster(t.Context(), cfg); known != tt.known {
			t.Errorf("%s is a known cluster of LKE: %v", tt.cluster.Label, known)
		}
	}
}

// TestChangedIdentityIsRefused: machines are known by the name, the region and the mode that
// the controller had when it made them.
func TestChangedIdentityIsRefused(t *testing.T) {
	own := api.Cluster{Label: "prod", Region: "us-ord", Tier: "instance"}
	lke := api.Cluster{ID: 77, Label: "prod", Region: "us-ord", Tier: "standard"}
	renamed, moved, lkeRenamed := own, own, lke
	renamed.Label, moved.Region, lkeRenamed.Label = "live", "us-sea", "live"
	for name, tt := range map[string]struct {
		was, is api.Cluster
		want    string
	}{
		"the same":            {own, own, ""},
		"the first start":     {api.Cluster{}, own, ""},
		"another name":        {own, renamed, "the cluster was called prod and not live, according to ConfigMap lkeplan-cluster"},
		"another region":      {own, moved, "the cluster was in us-ord and not in us-sea"},
		"LKE after Linodes":   {own, lke, "the controller ran in another mode"},
		"Linodes after LKE":   {lke, own, "the controller ran in another mode"},
		"renamed at LKE":      {lke, lkeRenamed, ""},
		"the same one of LKE": {lke, lke, ""},
	} {
		kept := record{client: fake.NewClientBuilder().WithScheme(scheme.Scheme).Build(), namespace: "lkeplan-system"}
		cfg := Config{Log: slog.New(slog.DiscardHandler)}
		if tt.was.Label != "" {
			kept.keep(t.Context(), cfg, tt.was, "")
		}
		err := kept.checkSettings(t.Context(), cfg, tt.is)
		if err == nil && tt.want != "" || err != nil && (tt.want == "" || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v; want %q", name, err, tt.want)
		}
	}
}
