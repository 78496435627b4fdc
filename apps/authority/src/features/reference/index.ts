import {
  API_VERSION,
  COMMANDS,
  SECURITY_SCHEMES,
  authHint,
  mapSurfaces,
  rateLimitText,
  reference,
  surfaceGroup,
} from '@chancery/contract'
import type { Route, SurfaceGroup } from '@chancery/contract'
import { bind } from '../../auth/access.ts'
import type { Feature } from '../../core.ts'
import { cliPage } from './cli-page.ts'
import { type ReferenceParts, componentSchemas } from './component-schemas.ts'
import { HOUR, type Instant, type JsonObject, asJson, writeJson } from '@chancery/protocol'
import { type Call, type HttpResponse, type Markup, jsonText, markup } from '@chancery/service-kit'
import { page } from '../../pages/frame.ts'
import { badge, panel, plural } from '../../pages/parts.ts'
import { baseUrl } from '../../requests/base-url.ts'
import { toOperation } from './operation.ts'

/**
 * GET /surfaces
 * Returns every route of this instance and every command, grouped by permitted caller.
 */
function surfaces(_call: Call, parts: ReferenceParts): JsonObject {
  const { network_name, network_version } = parts.network.genesis
  const map = mapSurfaces(parts.listRoutes(), COMMANDS, (limiter) => parts.limits.perMinute[limiter])
  return { network: network_name, version: network_version, ...asJson(map) }
}

const GROUPS: readonly { readonly group: SurfaceGroup; readonly title: string; readonly note: string }[] = [
  { group: 'safe', title: 'For all callers', note: 'No credential. Reads, and verification of signed records.' },
  { group: 'node_agent', title: 'For nodes and agents', note: 'The body is signed with the node key.' },
  { group: 'operator', title: 'For operators', note: 'Every call is signed, names its audience and can be used once.' },
  { group: 'managed', title: 'For monitoring', note: 'The deployment keeps them on a management interface.' },
]

/**
 * GET /api-reference
 * Shows every route of this instance, from the table that the server uses: the same as /swagger.json.
 */
function apiPage(_call: Call, parts: ReferenceParts): HttpResponse {
  const sections = GROUPS.map(({ group, title, note }) => {
    const routes = parts.listRoutes().filter((route) => surfaceGroup(route.access) === group)
    return panel({
      title: title,
      id: group,
      note: `${plural(routes.length, 'route')}. ${note}`,
      flush: routes.map((route) => describe(route, parts)),
    })
  })
  return page(parts, {
    path: '/api-reference',
    title: 'API reference',
    content: markup`<section class="verdict"><h1>API reference</h1>
<p>${plural(parts.listRoutes().length, 'route')} of this authority. The same for machines: <a href="/swagger.json">OpenAPI</a>, <a href="/surfaces">surfaces</a>.</p></section>
${sections}`,
  })
}

function describe(route: Route, parts: ReferenceParts): Markup {
  const limit = rateLimitText(route.limit, (limiter) => parts.limits.perMinute[limiter])
  return markup`<details class="route" data-route="${route.id}"><summary><span class="method method-${route.method.toLowerCase()}">${route.method}</span> <code>${route.path}</code> <span class="title">${route.summary}</span> ${route.stability !== 'stable' && badge('plain', route.stability)}</summary>
<p>${route.purpose}</p><dl class="facts"><div><dt>Caller</dt><dd>${authHint(route.access)}</dd></div><div><dt>Answer</dt><dd>${route.success}, ${route.response}</dd></div><div><dt>Limit</dt><dd>${limit ?? 'none'}</dd></div>${
    route.params.length > 0 && markup`<div><dt>In the path</dt><dd>${route.params.join(', ')}</dd></div>`
  }</dl></details>\n`
}

/** Serves the OpenAPI document. It is large, so its text is written once an hour and not for every request. */
class Swagger {
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

export function openReference(parts: ReferenceParts): Feature {
  const swagger = new Swagger(parts)
  return {
    routes: [
      bind(reference.swagger, (call) => swagger.serve(call)),
      bind(reference.surfaces, (call) => surfaces(call, parts)),
      bind(reference.apiPage, (call) => apiPage(call, parts)),
      bind(reference.cliPage, (call) => cliPage(call, parts)),
    ],
    jobs: [],
    close: () => Promise.resolve(),
  }
}
