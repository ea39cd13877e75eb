# The node agent on every node with GPUs: telemetry for Prometheus. It needs no
# GPU of its own and takes none from the pool.
#   nomad job run -var binary=/usr/local/bin/gpupool-agent agent.nomad.hcl

variable "binary" {
  type        = string
  default     = "/usr/local/bin/gpupool-agent"
  description = "Where the agent was installed on the nodes (CGO_ENABLED=1 go build -o gpupool-agent ./nomad/agent)."
}

job "gpupool-agent" {
  type = "system"

  constraint {
    attribute = "${attr.kernel.name}"
    value     = "linux"
  }

  group "agent" {
    network {
      port "metrics" {
        static = 9464
      }
    }

    service {
      name     = "gpupool-agent"
      port     = "metrics"
      provider = "nomad"

      check {
        type     = "http"
        path     = "/metrics"
        interval = "30s"
        timeout  = "5s"
      }
    }

    # A node without a driver ends with code 3: it is tried again, slowly.
    restart {
      attempts = 1
      interval = "1h"
      delay    = "5m"
      mode     = "delay"
    }

    task "agent" {
      driver = "raw_exec" # it reads the host's driver library

      config {
        command = var.binary
        args    = ["--listen", "${NOMAD_ADDR_metrics}"]
      }

      resources {
        cpu    = 50
        memory = 64
      }
    }
  }
}
