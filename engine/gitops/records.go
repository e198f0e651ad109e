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

// ConfigMaps keeps the source of what is in force in a ConfigMap beside each
// NodePlan, which goes with it.
type ConfigMaps struct {
	Client client.Client
	Reader client.Reader // without a cache: there is no need to hold all ConfigMaps
}

const (
	recordFiles = "source.tar.gz"
	recordPath  = "path"
)

func recordName(np *lkeplanv1alpha1.NodePlan) string {
	return kube.LabelValue("lkeplan", np.Name, "in-force")
}

// Load implements Records.
func (c ConfigMaps) Load(ctx context.Context, np *lkeplanv1alpha1.NodePlan, dir string) (string, bool, error) {
	var record corev1.ConfigMap
	err := c.Reader.Get(ctx, client.ObjectKey{Namespace: np.Namespace, Name: recordName(np)}, &record)
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

// Store implements Records. Files that are too many to be kept leave a record
// without any.
func (c ConfigMaps) Store(ctx context.Context, np *lkeplanv1alpha1.NodePlan, dir string) error {
	files, err := fetch.Pack(dir)
	if err != nil {
		return fmt.Errorf("pack the source: %w", err)
	}
	record := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: np.Namespace, Name: recordName(np)}}
	_, err = controllerutil.CreateOrPatch(ctx, uncached{c.Client, c.Reader}, record, func() error {
		record.Data = map[string]string{recordPath: np.Spec.Path}
		record.BinaryData = nil
		if len(files) <= maxRecord {
			record.BinaryData = map[string][]byte{recordFiles: files}
		}
		return controllerutil.SetOwnerReference(np, record, c.Client.Scheme())
	})
	return err
}

// uncached is a client that reads past its cache.
type uncached struct {
	client.Client
	reader client.Reader
}

// Get implements client.Reader.
func (u uncached) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	return u.reader.Get(ctx, key, obj, opts...)
}
