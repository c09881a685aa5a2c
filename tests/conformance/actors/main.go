// Runs KEDA's own code on rendered objects: the validating webhook of ScaledObjects, the resolution of
// TriggerAuthentications, and the configuration of the scalers. With a broker, the scaler of RabbitMQ also connects to it
// and counts the messages of its queue.
//
// It reads {"broker": "host:port", "cases": [{"name": ..., "objects": [...]}]} from standard input, and prints a JSON
// object for each ScaledObject: case, name, error, and the length of the queue.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/log"

	kedav1alpha1 "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	"github.com/kedacore/keda/v2/pkg/scalers"
	"github.com/kedacore/keda/v2/pkg/scalers/authentication"
	"github.com/kedacore/keda/v2/pkg/scalers/scalersconfig"
	"github.com/kedacore/keda/v2/pkg/scaling/resolver"
)

type input struct {
	Broker string `json:"broker"`
	Cases  []struct {
		Name    string                   `json:"name"`
		Objects []map[string]interface{} `json:"objects"`
	} `json:"cases"`
}

type verdict struct {
	Case   string  `json:"case"`
	Name   string  `json:"name"`
	Error  string  `json:"error,omitempty"`
	Length float64 `json:"length"`
}

func main() {
	log.SetLogger(logr.Discard())
	var given input
	if err := json.NewDecoder(os.Stdin).Decode(&given); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, kedav1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	output := json.NewEncoder(os.Stdout)
	for _, it := range given.Cases {
		objects, err := decode(it.Objects, scheme)
		if err != nil {
			_ = output.Encode(verdict{Case: it.Name, Error: err.Error()})
			continue
		}
		mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{appsv1.SchemeGroupVersion})
		for _, kind := range []string{"Deployment", "StatefulSet"} {
			mapper.Add(appsv1.SchemeGroupVersion.WithKind(kind), meta.RESTScopeNamespace)
		}
		c := fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(mapper).WithObjects(objects...).Build()
		kedav1alpha1.SetClient(c)
		for _, object := range objects {
			if scaled, ok := object.(*kedav1alpha1.ScaledObject); ok {
				result := verdict{Case: it.Name, Name: scaled.Name}
				if result.Length, err = check(c, scaled, given.Broker); err != nil {
					result.Error = err.Error()
				}
				_ = output.Encode(result)
			}
		}
	}
}

// decode converts the objects that KEDA reads to its types. Unknown fields are errors.
func decode(given []map[string]interface{}, scheme *runtime.Scheme) ([]client.Object, error) {
	var objects []client.Object
	for _, fields := range given {
		raw := &unstructured.Unstructured{Object: fields}
		if raw.GetNamespace() == "" {
			raw.SetNamespace("default")
		}
		typed, err := scheme.New(raw.GroupVersionKind())
		if err != nil {
			continue
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(fields, typed, true); err != nil {
			return nil, fmt.Errorf("%s %s: %w", raw.GetKind(), raw.GetName(), err)
		}
		if secret, ok := typed.(*corev1.Secret); ok && secret.Data == nil {
			// The API server does this.
			secret.Data = map[string][]byte{}
			for key, value := range secret.StringData {
				secret.Data[key] = []byte(value)
			}
		}
		if object, ok := typed.(client.Object); ok {
			objects = append(objects, object)
		}
	}
	return objects, nil
}

func check(c client.Client, scaled *kedav1alpha1.ScaledObject, broker string) (float64, error) {
	dryRun := false
	if _, err := scaled.ValidateCreate(&dryRun); err != nil {
		return 0, fmt.Errorf("webhook: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	length := 0.0
	for index, trigger := range scaled.Spec.Triggers {
		params, identity, err := resolver.ResolveAuthRefAndPodIdentity(ctx, c, logr.Discard(), trigger.AuthenticationRef,
			podsOf(ctx, c, scaled), scaled.Namespace, &authentication.AuthClientSet{})
		if err != nil {
			return 0, fmt.Errorf("authentication: %w", err)
		}
		config := &scalersconfig.ScalerConfig{
			ScalableObjectName:      scaled.Name,
			ScalableObjectNamespace: scaled.Namespace,
			ScalableObjectType:      "ScaledObject",
			GlobalHTTPTimeout:       5 * time.Second,
			TriggerName:             trigger.Name,
			TriggerType:             trigger.Type,
			TriggerMetadata:         trigger.Metadata,
			ResolvedEnv:             map[string]string{},
			AuthParams:              params,
			PodIdentity:             identity,
			TriggerIndex:            index,
			TriggerUniqueKey:        fmt.Sprintf("%s/%s/%d", scaled.Namespace, scaled.Name, index),
			MetricType:              trigger.MetricType,
		}
		var scaler scalers.Scaler
		switch trigger.Type {
		case "aws-sqs-queue":
			scaler, err = scalers.NewAwsSqsQueueScaler(ctx, config)
		case "rabbitmq":
			if err = scalers.CheckRabbitMQ(config); err == nil && broker != "" {
				if err = redirect(config, broker); err == nil {
					scaler, err = scalers.NewRabbitMQScaler(config)
				}
			}
		default:
			err = fmt.Errorf("this check does not know the trigger %s", trigger.Type)
		}
		if err != nil {
			return 0, fmt.Errorf("scaler: %w", err)
		}
		if scaler == nil {
			continue
		}
		if trigger.Type == "rabbitmq" {
			metrics, _, err := scaler.GetMetricsAndActivity(ctx, "queue")
			if err != nil {
				return 0, fmt.Errorf("broker: %w", err)
			}
			for _, metric := range metrics {
				length += metric.Value.AsApproximateFloat64()
			}
		}
		if err := scaler.Close(ctx); err != nil {
			return 0, fmt.Errorf("close: %w", err)
		}
	}
	return length, nil
}

// redirect replaces host and port of the broker in a trigger, and nothing else.
func redirect(config *scalersconfig.ScalerConfig, broker string) error {
	metadata := map[string]string{}
	for key, value := range config.TriggerMetadata {
		metadata[key] = value
	}
	address, err := url.Parse(metadata["host"])
	if err != nil {
		return err
	}
	address.Host = broker
	metadata["host"] = address.String()
	config.TriggerMetadata = metadata
	return nil
}

// podsOf returns the pod template of the scaled workload. A workload that another controller creates is not among the
// rendered objects, and has no template here.
func podsOf(ctx context.Context, c client.Client, scaled *kedav1alpha1.ScaledObject) *corev1.PodTemplateSpec {
	key := client.ObjectKey{Namespace: scaled.Namespace, Name: scaled.Spec.ScaleTargetRef.Name}
	if scaled.Spec.ScaleTargetRef.Kind == "StatefulSet" {
		set := &appsv1.StatefulSet{}
		if c.Get(ctx, key, set) == nil {
			return &set.Spec.Template
		}
	}
	deployment := &appsv1.Deployment{}
	if c.Get(ctx, key, deployment) == nil {
		return &deployment.Spec.Template
	}
	return &corev1.PodTemplateSpec{}
}
