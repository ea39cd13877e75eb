# The portal as a Nomad job, behind a reverse proxy that ends TLS.
#   nomad var put nomad/jobs/gpupool database_url=postgres://… nomad_token=…
#   nomad job run -var image=registry.example/gpupool:1 -var url=https://gpu.example.org portal.nomad.hcl

variable "image" {
  type = string
}

variable "url" {
  type        = string
  description = "As people reach the portal."
}

variable "nomad_addr" {
  type    = string
  default = "https://nomad.service.consul:4646"
}

job "gpupool" {
  type = "service"

  group "portal" {
    # One: the engine holds a lease, a second one would only wait for it.
    count = 1

    network {
      port "http" {
        to = 8080
      }
    }

    service {
      name     = "gpupool"
      port     = "http"
      provider = "nomad"

      check {
        type     = "http"
        path     = "/healthz"
        interval = "10s"
        timeout  = "3s"
      }
    }

    task "portal" {
      driver = "docker"

      config {
        image = var.image
        ports = ["http"]
      }

      env {
        GPUPOOL_URL               = var.url
        GPUPOOL_TRUST_PROXY       = "true"
        GPUPOOL_DATA              = "${NOMAD_TASK_DIR}/data"
        GPUPOOL_DATABASE_URL_FILE = "${NOMAD_SECRETS_DIR}/database_url"
        NOMAD_TOKEN_FILE          = "${NOMAD_SECRETS_DIR}/nomad_token"
        NOMAD_ADDR                = var.nomad_addr
      }

      template {
        destination = "secrets/database_url"
        perms       = "0444"
        data        = "{{ with nomadVar \"nomad/jobs/gpupool\" }}{{ .database_url }}{{ end }}"
      }

      template {
        destination = "secrets/nomad_token"
        perms       = "0444"
        data        = "{{ with nomadVar \"nomad/jobs/gpupool\" }}{{ .nomad_token }}{{ end }}"
      }

      resources {
        cpu    = 1000
        memory = 512
      }
    }
  }
}
