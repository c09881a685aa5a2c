package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

type discoverFunc = func() ([]*metav1.APIResourceList, error)

var getOptions = metav1.GetOptions{}

// credentials are the files that the server reads.
type credentials struct {
	ca, serverCert, serverKey, accountKey, accountPublic, tokens string
	// The kubeconfig before it is renamed, which happens once the server is ready.
	pending string
}

// openCredentials reuses the credentials of an earlier run in the directory, so that its clients stay valid, or creates
// them. It also returns the port on which the server must listen.
func openCredentials(dir string, port int) (credentials, int, error) {
	files := credentialsIn(dir)
	ready := filepath.Join(dir, "kubeconfig")
	// The kubeconfig signals readiness, so it must be absent until this run is ready.
	if err := os.Rename(ready, files.pending); err != nil && !os.IsNotExist(err) {
		return files, 0, err
	}
	// The kubeconfig is written last: if it exists, all other files do.
	if _, err := os.Stat(files.pending); os.IsNotExist(err) {
		return files, port, writeCredentials(files, port)
	}
	config, err := clientcmd.LoadFromFile(files.pending)
	if err != nil {
		return files, 0, err
	}
	cluster, found := config.Clusters["controlplane"]
	if !found {
		return files, 0, fmt.Errorf("%s has no cluster named controlplane", ready)
	}
	server, err := url.Parse(cluster.Server)
	if err != nil {
		return files, 0, err
	}
	port, err = strconv.Atoi(server.Port())
	return files, port, err
}

func credentialsIn(dir string) credentials {
	in := func(name string) string { return filepath.Join(dir, name) }
	return credentials{
		ca: in("ca.crt"), serverCert: in("server.crt"), serverKey: in("server.key"),
		accountKey: in("accounts.key"), accountPublic: in("accounts.pub"),
		tokens: in("tokens.csv"), pending: in("kubeconfig.pending"),
	}
}

// writeCredentials creates a certificate authority for this directory, and the certificates that it signs.
func writeCredentials(files credentials, port int) error {
	authority, err := newPair(&x509.Certificate{
		Subject: pkix.Name{CommonName: "controlplane"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}, nil)
	if err != nil {
		return err
	}
	server, err := newPair(&x509.Certificate{
		Subject:     pkix.Name{CommonName: "kube-apiserver"},
		DNSNames:    []string{"localhost", "kubernetes.default.svc"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(10, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, authority)
	if err != nil {
		return err
	}
	admin, err := newPair(&x509.Certificate{
		Subject:     pkix.Name{CommonName: "admin", Organization: []string{"system:masters"}},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, authority)
	if err != nil {
		return err
	}
	accounts, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	accountKey, accountPublic, err := encodeKey(accounts)
	if err != nil {
		return err
	}
	contents := map[string][]byte{
		files.ca: authority.cert, files.serverCert: server.cert, files.serverKey: server.keyPEM,
		files.accountKey: accountKey, files.accountPublic: accountPublic,
		files.tokens: []byte("plain-user-token,plain-user,1001,\"plain-users\"\n"),
	}
	for name, content := range contents {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			return err
		}
	}
	config := api.NewConfig()
	config.Clusters["controlplane"] = &api.Cluster{
		Server: fmt.Sprintf("https://127.0.0.1:%d", port), CertificateAuthorityData: authority.cert,
	}
	config.AuthInfos["admin"] = &api.AuthInfo{ClientCertificateData: admin.cert, ClientKeyData: admin.keyPEM}
	config.AuthInfos["plain-user"] = &api.AuthInfo{Token: "plain-user-token"}
	for _, user := range []string{"admin", "plain-user"} {
		config.Contexts[user] = &api.Context{Cluster: "controlplane", AuthInfo: user}
	}
	config.CurrentContext = "admin"
	return clientcmd.WriteToFile(*config, files.pending)
}

type pair struct {
	parsed       *x509.Certificate
	key          *ecdsa.PrivateKey
	cert, keyPEM []byte
}

// newPair creates a key and its certificate, signed by the authority, or self-signed if that is nil.
func newPair(template *x509.Certificate, authority *pair) (*pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	template.SerialNumber = serial
	// The certificate stays valid if the clock is set back a little.
	template.NotBefore = time.Now().Add(-time.Hour)
	template.NotAfter = time.Now().Add(7 * 24 * time.Hour)
	parent, signer := template, key
	if authority != nil {
		parent, signer = authority.parsed, authority.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		return nil, err
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	keyPEM, _, err := encodeKey(key)
	if err != nil {
		return nil, err
	}
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return &pair{parsed: parsed, key: key, cert: cert, keyPEM: keyPEM}, nil
}

func encodeKey(key *ecdsa.PrivateKey) (private, public []byte, err error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	publicDER, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return nil, nil, err
	}
	private = pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
	return private, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: publicDER}), nil
}
