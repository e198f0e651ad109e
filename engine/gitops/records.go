package gitops

import (
	"bytes"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/lkeplan/lkeplan/engine/fetch"
	"github.com/lkeplan/lkeplan/kube"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// maxRecord bounds what is kept in a ConfigMap, which holds 1 MiB.
const maxRecord = 900 << 10

// ConfigMaps keeps the files that were last applied in a ConfigMap next to each
// NodePlan, which is deleted with it. The client needs no cache: that would hold
// all ConfigMaps of the cluster.
type ConfigMaps struct{ Client client.Client }

// The keys of such a ConfigMap.
const (
	recordFiles = "source.tar.gz"
	recordPath  = "path" // the directory in it that was compiled
)

// recordName keeps the name that clusters have already: a revision would be judged
// by its own guards where its record is not found.
func recordName(np *lkeplanv1alpha1.NodePlan) string {
	return kube.LabelValue("lkeplan", np.Name, "in-force")
}

// Load implements Records.
func (c ConfigMaps) Load(ctx context.Context, np *lkeplanv1alpha1.NodePlan, dir string) (string, bool, error) {
	var record corev1.ConfigMap
	err := c.Client.Get(ctx, client.ObjectKey{Namespace: np.Namespace, Name: recordName(np)}, &record)
	if apierrors.IsNotFound(err) || (err == nil && record.BinaryData[recordFiles] == nil) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	if err := fetch.Unpack(bytes.NewReader(record.BinaryData[recordFiles]), dir); err != nil {
		return "", false, fmt.Errorf("read ConfigMap %s/%s: %w", np.Namespace, record.Name, err)
	}
	return record.Data[recordPath], true, nil
}

// Store implements Records. Where the files are too large for a ConfigMap, the
// record has none.
func (c ConfigMaps) Store(ctx context.Context, np *lkeplanv1alpha1.NodePlan, dir string) error {
	files, err := fetch.Pack(dir)
	if err != nil {
		return fmt.Errorf("pack the source: %w", err)
	}
	record := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: np.Namespace, Name: recordName(np)}}
	_, err = controllerutil.CreateOrPatch(ctx, c.Client, record, func() error {
		record.Data = map[string]string{recordPath: np.Spec.Path}
		record.BinaryData = nil
		if len(files) <= maxRecord {
			record.BinaryData = map[string][]byte{recordFiles: files}
		}
		return controllerutil.SetOwnerReference(np, record, c.Client.Scheme())
	})
	return err
}
