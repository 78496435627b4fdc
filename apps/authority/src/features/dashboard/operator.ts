import { COMMANDS, LIMITS, OPERATOR_PAGE_HEADERS, PROGRAM_NAME } from '@chancery/contract'
import { type Call, HttpResponse, type Markup, html, markup } from '@chancery/service-kit'
import { type ConsoleManifest, type NavEntry, consoleManifest } from './console-files.ts'
import type { DashboardParts } from './activity.ts'
import { table } from '../../pages/parts.ts'
import { whose } from '../../pages/frame.ts'

const STATIC = '/operator-console-static'

/**
 * GET /operator, GET /operator/{page}
 * Serves the frame of the operator console, the same for every address below /operator. The script replaces it. Key and
 * signatures stay in the browser. Without script, the command line does the same work.
 */
export function operator(call: Call, parts: DashboardParts): HttpResponse {
  const built = consoleManifest()
  const entry = findEntry(built, call.path)
  const page = html(frame(parts, built, entry))
  return new HttpResponse(page.body, page.contentType, undefined, OPERATOR_PAGE_HEADERS)
}

/** Returns the page that the address names, by its longest match. */
function findEntry(built: ConsoleManifest | undefined, path: string): NavEntry | undefined {
  const fits = (built?.nav ?? []).filter((each) => path === each.path || path.startsWith(`${each.path}/`))
  return fits.toSorted((a, b) => b.path.length - a.path.length)[0]
}

function frame({ network }: DashboardParts, built: ConsoleManifest | undefined, entry: NavEntry | undefined): Markup {
  const { network_name, network_version, network_authority } = network.genesis
  const title = entry?.title ?? 'Operator'
  return markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${title} · ${network_name}</title>
<link rel="icon" href="/favicon.svg" type="image/svg+xml">
${
  built !== undefined &&
  markup`<link rel="stylesheet" href="${STATIC}/operator/${built.style}">
<script type="module" src="${STATIC}/operator/${built.script}"></script>`
}
</head>
<body data-page="/operator">
<a class="skip" href="#content">Skip to content</a>
<div id="operator" data-key-idle-minutes="${LIMITS.consoleKeyIdleMinutes}" data-network="${encodeURIComponent(network_name)}" data-version="${encodeURIComponent(network_version)}" data-authority-key="${encodeURIComponent(network_authority.public_key)}">
<div class="app">
<aside class="side">
${whose(network.genesis, '/operator')}
${navigation(built?.nav ?? [], entry)}
</aside>
<main class="main" id="content" tabindex="-1">
<div class="bar"><div class="crumbs"><h1>${title}</h1></div><p class="asks">${entry?.asks ?? ''}</p></div>
${unlockText()}
</main>
</div>
</div>
</body>
</html>
`
}

function navigation(nav: readonly NavEntry[], current: NavEntry | undefined): Markup {
  const groups = [...new Set(nav.filter((each) => !each.isLast).map(({ group }) => group))]
  const list = (entries: readonly NavEntry[]): Markup =>
    markup`<ul>${entries.map(
      (each) =>
        markup`<li><a href="${each.path}"${each === current && markup` aria-current="page"`}><svg class="i" viewBox="0 0 16 16" aria-hidden="true"><path d="${each.icon}"/></svg><span class="t">${each.title}</span></a></li>`,
    )}</ul>`
  return markup`<nav class="nav" aria-label="Console">${groups.map(
    (group) =>
      markup`${group !== '' && markup`<h2>${group}</h2>`}${list(nav.filter((each) => each.group === group && !each.isLast))}`,
  )}</nav>
<div class="side-end"><nav class="nav" aria-label="Console, more">${list(nav.filter((each) => each.isLast))}</nav></div>`
}

/** What a reader sees before the script runs, and when it did not load. */
function unlockText(): Markup {
  const commands = COMMANDS.filter((command) => command.needs === 'operator')
  return markup`<div class="content" data-frame="server">
<div class="bones" aria-hidden="true"><span class="bone"></span><span class="bone"></span><span class="bone"></span></div>
<section class="panel"><div class="body">
<h2>Unlock your key</h2>
<p>Work that changes this network is signed with your key in this window. The key never leaves it.</p>
<p>This page needs its script. If you read this text for more than a few seconds, the script did not load: allow scripts for this address and load the page again. The pages <a href="/">Overview</a> and <a href="/connectome">Connectome</a> work without script.</p>
</div></section>
<section class="panel"><header><h2>The same on the command line</h2></header>${table(
    'Commands that need an operator key',
    [
      { name: 'Command', cell: (command) => markup`<code>${PROGRAM_NAME} ${command.path.join(' ')}</code>` },
      { name: 'Does', cell: (command) => command.summary },
    ],
    commands,
    'There is none.',
  )}</section>
</div>`
}
