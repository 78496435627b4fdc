import { type Route, type SurfaceGroup, authHint, rateLimitText, surfaceGroup } from '@chancery/contract'
import { type Call, type HttpResponse, type Markup, markup } from '@chancery/service-kit'
import type { ReferenceParts } from './parts.ts'
import { page } from '../../pages/frame.ts'
import { badge, panel, plural } from '../../pages/parts.ts'

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
export function apiPage(_call: Call, parts: ReferenceParts): HttpResponse {
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
