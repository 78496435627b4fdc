import { API_VERSION, SECURITY_SCHEMES } from '@chancery/contract'
import { HOUR, type Instant, type JsonObject, writeJson } from '@chancery/protocol'
import { type Call, type HttpResponse, jsonText } from '@chancery/service-kit'
import { baseUrl } from '../../requests/base-url.ts'
import { componentSchemas } from './component-schemas.ts'
import { toOperation } from './operation.ts'
import type { ReferenceParts } from './parts.ts'

/** Serves the OpenAPI document. It is large, so its text is written once an hour and not for every request. */
export class Swagger {
  readonly #parts: ReferenceParts
  #written: { readonly at: Instant; readonly text: string } | undefined

  constructor(parts: ReferenceParts) {
    this.#parts = parts
  }

  /**
   * GET /swagger.json
   * Returns OpenAPI 3.0.3 of the served routes, from the table that the server uses (protocol/core 22.4).
   */
  serve(call: Call): HttpResponse {
    const servers = writeJson([{ url: baseUrl(call, this.#parts) }])
    return jsonText(`{"servers":${servers},${this.#rest().slice(1)}`)
  }

  /** Times in the examples are those of this hour. */
  #rest(): string {
    const now = this.#parts.clock.now()
    const isCurrent = this.#written !== undefined && now >= this.#written.at && now < this.#written.at + HOUR
    if (this.#written === undefined || !isCurrent)
      this.#written = { at: now, text: writeJson(toDocument(this.#parts, now)) }
    return this.#written.text
  }
}

function toDocument(parts: ReferenceParts, now: Instant): JsonObject {
  const { network, signing } = parts
  const facts = { sovereign_id: network.name, authorityKey: signing.publicKey, now }
  const paths: Record<string, Record<string, JsonObject>> = {}
  for (const route of parts.listRoutes()) {
    const item = (paths[route.path] ??= {})
    item[route.method.toLowerCase()] = toOperation(route, parts, facts)
  }
  return {
    openapi: '3.0.3',
    info: { title: `${network.name} network authority`, version: API_VERSION },
    paths,
    components: { securitySchemes: securitySchemes(), schemas: componentSchemas() },
  }
}

/** Declarations only: OpenAPI has no scheme for a signature over the whole request. */
function securitySchemes(): JsonObject {
  return Object.fromEntries(
    Object.entries(SECURITY_SCHEMES).map(([name, header]) => [name, { type: 'apiKey', in: 'header', name: header }]),
  )
}
