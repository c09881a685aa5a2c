// Command controlplane is a complete Kubernetes API for tests, in one process and on loopback: etcd, kube-apiserver,
// garbage collector and namespace controller. It has no kubelet, no scheduler and no other controller.
//
// It creates its own certificates, picks free ports, and writes the file `kubeconfig` into its directory when ready.
// The kubeconfig has an administrator and a plain user without permissions. Stop it with SIGKILL: a graceful shutdown
// waits a minute for its own watches. Started again with the same directory, it serves the same cluster on the same
// port.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/namespace"

	corev1 "k8s.io/api/core/v1"
)

func main() {
	dir := flag.String("dir", "", "directory for data, certificates and the kubeconfig; it must exist")
	port := flag.Int("port", 0, "port of the API; 0 picks a free one")
	flag.Parse()
	if *dir == "" {
		log.Fatal("-dir is needed")
	}
	if err := run(*dir, *port); err != nil {
		log.Fatal(err)
	}
}

func run(dir string, port int) error {
	ports, err := freePorts(3)
	if err != nil {
		return err
	}
	if port == 0 {
		port = ports[0]
	}
	files, port, err := openCredentials(dir, port)
	if err != nil {
		return fmt.Errorf("credentials: %w", err)
	}
	etcd, err := startEtcd(filepath.Join(dir, "etcd"), ports[1], ports[2])
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	defer etcd.Close()
	go func() {
		if err := control(dir, files); err != nil {
			log.Fatal(err)
		}
	}()
	server := app.NewAPIServerCommand()
	server.SetArgs([]string{
		"--etcd-servers=" + etcd.Config().ListenClientUrls[0].String(),
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", port),
		"--tls-cert-file=" + files.serverCert,
		"--tls-private-key-file=" + files.serverKey,
		"--client-ca-file=" + files.ca,
		"--service-account-key-file=" + files.accountPublic,
		"--service-account-signing-key-file=" + files.accountKey,
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-cluster-ip-range=10.0.0.0/24",
		"--authorization-mode=RBAC",
		// As in clusters of kubeadm; the policy of the options decides about privileged pods.
		"--allow-privileged=true",
		"--token-auth-file=" + files.tokens,
		"--endpoint-reconciler-type=none",
		"--disable-admission-plugins=ServiceAccount",
	})
	return server.Execute()
}

// freePorts asks the system for ports on which no process listens.
func freePorts(number int) ([]int, error) {
	var ports []int
	for range number {
		// Each port stays open until all are known, so that they differ.
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer listener.Close()
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

func startEtcd(dir string, clients, peers int) (*embed.Etcd, error) {
	config := embed.NewConfig()
	config.Dir = dir
	config.LogLevel = "error"
	// The data of a test need not survive a crash of the machine.
	config.UnsafeNoFsync = true
	local := func(port int) url.URL { return url.URL{Scheme: "http", Host: fmt.Sprintf("127.0.0.1:%d", port)} }
	config.ListenClientUrls = []url.URL{local(clients)}
	config.AdvertiseClientUrls = config.ListenClientUrls
	config.ListenPeerUrls = []url.URL{local(peers)}
	config.AdvertisePeerUrls = config.ListenPeerUrls
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	etcd, err := embed.StartEtcd(config)
	if err != nil {
		return nil, err
	}
	select {
	case <-etcd.Server.ReadyNotify():
		return etcd, nil
	case <-time.After(30 * time.Second):
		etcd.Close()
		return nil, fmt.Errorf("not ready after 30 s")
	}
}

// control waits for the server, starts the controllers that tests need, and publishes the kubeconfig.
func control(dir string, files credentials) error {
	config, err := clientcmd.BuildConfigFromFlags("", files.pending)
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 500, 1000
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	ctx := context.Background()
	if err := waitUntilReady(ctx, client); err != nil {
		return err
	}
	if err := collectGarbage(ctx, config, client); err != nil {
		return fmt.Errorf("garbage collector: %w", err)
	}
	// A rename is atomic, so readers never see an incomplete file.
	return os.Rename(files.pending, filepath.Join(dir, "kubeconfig"))
}

func waitUntilReady(ctx context.Context, client *kubernetes.Clientset) error {
	deadline := time.Now().Add(60 * time.Second)
	for time.Now().Before(deadline) {
		_, err := client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		if err == nil {
			if _, err = client.CoreV1().Namespaces().Get(ctx, "default", getOptions); err == nil {
				return nil
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Errorf("the server is not ready after 60 s")
}

func collectGarbage(ctx context.Context, config *rest.Config, client *kubernetes.Clientset) error {
	metadataClient, err := metadata.NewForConfig(config)
	if err != nil {
		return err
	}
	cached := memory.NewMemCacheClient(client.Discovery())
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(cached)
	shared := informers.NewSharedInformerFactory(client, 0)
	factory := informerfactory.NewInformerFactory(shared, metadatainformer.NewSharedInformerFactory(metadataClient, 0))
	started := make(chan struct{})
	collector, err := garbagecollector.NewGarbageCollector(
		ctx, client, metadataClient, mapper, garbagecollector.DefaultIgnoredResources(), factory, started)
	if err != nil {
		return err
	}
	namespaces := namespace.NewNamespaceController(
		ctx, client, metadataClient, serverPreferred(client.Discovery()), shared.Core().V1().Namespaces(), 5*time.Minute, corev1.FinalizerKubernetes)
	factory.Start(ctx.Done())
	close(started)
	go collector.Run(ctx, 5, 5*time.Second)
	// kube-controller-manager discovers new kinds every 30 s. Tests create kinds and should not wait that long.
	go collector.Sync(ctx, client.Discovery(), time.Second)
	go namespaces.Run(ctx, 5)
	return nil
}

func serverPreferred(client discovery.DiscoveryInterface) discoverFunc {
	return client.ServerPreferredNamespacedResources
}
