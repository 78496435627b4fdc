import { authHint, rateLimitText, surfaceGroup } from '@chancery/contract'
import type { Route, SurfaceGroup } from '@chancery/contract'
import { markup } from '@chancery/service-kit'
import type { Answer, Call, Markup } from '@chancery/service-kit'
import type { Office } from '../../office.ts'
import { page } from '../../page-frame.ts'
import { badge, plural } from '../../page-parts.ts'

const GROUPS: readonly { readonly group: SurfaceGroup; readonly title: string; readonly note: string }[] = [
  { group: 'safe', title: 'For everybody', note: 'No credential. Reads, and verification of signed records.' },
  { group: 'node_agent', title: 'For nodes and agents', note: 'The body is signed with the node key.' },
  { group: 'operator', title: 'For operators', note: 'Every call is signed, names its audience and can be used once.' },
]

/**
 * GET /api-reference
 * Every route this instance serves, from the table the server binds: the same as /swagger.json.
 */
export function apiPage(_call: Call, office: Office): Answer {
  const sections = GROUPS.map(({ group, title, note }) => {
    const routes = office.routes.filter((route) => surfaceGroup(route.access) === group)
    return markup`<section class="card"><h2 id="${group}">${title} <span class="quiet">${plural(routes.length, 'route')}</span></h2><p class="quiet">${note}</p>${routes.map((route) => describe(route, office))}</section>\n`
  })
  return page(office, {
    path: '/api-reference',
    title: 'API reference',
    content: markup`<h1>API reference</h1>
<p class="lead">${plural(office.routes.length, 'route')} of this authority. The same for machines: <a href="/swagger.json">OpenAPI</a>, <a href="/surfaces">surfaces</a>.</p>
${sections}`,
  })
}

function describe(route: Route, office: Office): Markup {
  const limit = rateLimitText(route.limit, (limiter) => office.settings.limits[limiter])
  return markup`<details class="route" data-route="${route.id}"><summary><span class="method method-${route.method.toLowerCase()}">${route.method}</span> <code>${route.path}</code> <span class="title">${route.summary}</span> ${route.stability !== 'stable' && badge('plain', route.stability)}</summary>
<p>${route.purpose}</p><dl class="facts"><div><dt>Caller</dt><dd>${authHint(route.access)}</dd></div><div><dt>Answer</dt><dd>${route.success}, ${route.answer}</dd></div><div><dt>Limit</dt><dd>${limit ?? 'none'}</dd></div>${
    route.params.length > 0 && markup`<div><dt>In the path</dt><dd>${route.params.join(', ')}</dd></div>`
  }</dl></details>\n`
}
