// Command go-driver is a small DRA driver on Kubernetes' own kubeletplugin helper, for the suite to
// be right about: it does what the contract asks, in the way in which drivers in Go do it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
	"k8s.io/dynamic-resource-allocation/resourceslice"
)

const (
	bootIDFile = "/proc/sys/kernel/random/boot_id"

	// lookEvery is how often the driver looks whether a device has come or gone.
	lookEvery = 200 * time.Millisecond

	// requestsPerSecond is enough for a driver never to wait for its own client.
	requestsPerSecond = 100
)

// driver keeps all of its state in files: the helper calls it for one request at a time, across
// processes too, so that nothing in memory can differ from what a second instance sees.
type driver struct {
	name, node, bootID       string
	dataDir, cdiDir          string
	devices                  int
	client                   kubernetes.Interface
	stop                     context.CancelFunc
	kubeconfig, registry, id string
}

func main() {
	d := &driver{}
	flag.StringVar(&d.kubeconfig, "kubeconfig", "", "kubeconfig `file`")
	flag.StringVar(&d.name, "name", "go.dra.example", "driver `name`")
	flag.StringVar(&d.node, "node", "", "`name` of the node")
	flag.StringVar(&d.dataDir, "data", "", "the driver's own `directory`")
	flag.StringVar(&d.registry, "registry", "", "the kubelet's plugin registry `directory`")
	flag.StringVar(&d.cdiDir, "cdi", "", "`directory` of CDI specs")
	flag.StringVar(&d.id, "pod-uid", "", "`UID` of the driver's pod; with one, two instances may overlap")
	flag.IntVar(&d.devices, "devices", 8, "`number` of devices that the node has")
	flag.Parse()
	if err := d.run(); err != nil {
		fmt.Fprintln(os.Stderr, "go-driver:", err)
		os.Exit(1)
	}
}

func (d *driver) run() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	d.stop = stop
	boot, err := os.ReadFile(bootIDFile)
	if err != nil {
		return err
	}
	d.bootID = strings.TrimSpace(string(boot))
	if err := os.MkdirAll(d.dataDir, 0o750); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", d.kubeconfig)
	if err != nil {
		return err
	}
	config.QPS, config.Burst = requestsPerSecond, requestsPerSecond
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = config.ContentType + ",application/json"
	if d.client, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	helper, err := kubeletplugin.Start(ctx, d,
		kubeletplugin.DriverName(d.name),
		kubeletplugin.NodeName(d.node),
		kubeletplugin.KubeClient(d.client),
		kubeletplugin.PluginDataDirectoryPath(d.dataDir),
		kubeletplugin.RegistrarDirectoryPath(d.registry),
		kubeletplugin.RollingUpdate(types.UID(d.id)),
	)
	if err != nil {
		return err
	}
	defer helper.Stop()
	for told := -1; ; {
		if present := d.present(); len(present) != told {
			err := helper.PublishResources(ctx, d.resources(present))
			if ctx.Err() != nil {
				return nil
			}
			if err != nil {
				return err
			}
			told = len(present)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(lookEvery):
		}
	}
}

// HandleError is called by the helper for what goes wrong in the background.
func (d *driver) HandleError(ctx context.Context, err error, msg string) {
	utilruntime.HandleErrorWithContext(ctx, err, msg)
	if !errors.Is(err, kubeletplugin.ErrRecoverable) {
		d.stop()
	}
}

// present are the names of the devices that are there: the file "unplugged" takes the first away.
func (d *driver) present() []string {
	first := 0
	if _, err := os.Stat(filepath.Join(d.dataDir, "unplugged")); err == nil {
		first = 1
	}
	names := []string{}
	for n := first; n < d.devices; n++ {
		names = append(names, "dev-"+strconv.Itoa(n))
	}
	return names
}

// resources are what is published: one pool for the node, with a slice even where it is empty.
func (d *driver) resources(names []string) resourceslice.DriverResources {
	slices := make([]resourceslice.Slice, max(1, (len(names)+resourceapi.ResourceSliceMaxDevices-1)/resourceapi.ResourceSliceMaxDevices))
	kind := "small"
	for n, name := range names {
		into := &slices[n/resourceapi.ResourceSliceMaxDevices]
		into.Devices = append(into.Devices, resourceapi.Device{
			Name:       name,
			Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{"type": {StringValue: &kind}},
		})
	}
	return resourceslice.DriverResources{Pools: map[string]resourceslice.Pool{d.node: {Slices: slices}}}
}
