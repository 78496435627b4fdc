import { SCRIPT_POLICY, trustedTypesPolicy } from '@chancery/contract'
import { html, markup } from '@chancery/service-kit'
import type { HttpResponse, Markup } from '@chancery/service-kit'
import { toDisplay } from './display-time.ts'
import type { Core } from '../core.ts'
import { writeInstant } from '@chancery/protocol'

/** The pages in the order of the menu. */
const MENU = [
  { path: '/', name: 'Overview' },
  { path: '/connectome', name: 'Connectome' },
  { path: '/atlas', name: 'Atlas' },
  { path: '/api-reference', name: 'API' },
  { path: '/cli-reference', name: 'Commands' },
  { path: '/operator', name: 'Operator' },
] as const

export interface Page {
  /** The entry of the menu. The script uses it to select what to enhance. */
  readonly path: (typeof MENU)[number]['path']
  readonly title: string
  readonly content: Markup
}

/**
 * The shell of every page: one style sheet, one script, both of this origin, and nothing inline, so that the strict
 * content policy has no exception (protocol/core 3). All content is in the page before any script runs.
 */
export function page(parts: Pick<Core, 'clock' | 'network'>, { path, title, content }: Page): HttpResponse {
  const { network_name, network_version } = parts.network.genesis
  return html(markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${trustedTypesPolicy(SCRIPT_POLICY)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${title} · ${network_name}</title>
<link rel="icon" href="/favicon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/operator-console-static/styles.css">
<script type="module" src="/operator-console-static/console.js"></script>
</head>
<body data-page="${path}">
<a class="skip" href="#content">Skip to content</a>
<header class="top">
<a class="brand" href="/"><img src="/operator-console-static/logo.svg" alt="" width="28" height="28"><span>Chancery</span></a>
<p class="network"><span class="network-name">${network_name}</span> <span class="quiet">${network_version}</span></p>
<nav class="menu" aria-label="Pages"><ul>${MENU.map(
    (entry) =>
      markup`<li><a href="${entry.path}"${entry.path === path && markup` aria-current="page"`}>${entry.name}</a></li>`,
  )}</ul></nav>
</header>
<main id="content" tabindex="-1">
${content}
</main>
<footer class="bottom"><p>As of <time>${toDisplay(writeInstant(parts.clock.now()))}</time><span id="live"></span></p><p class="quiet">This page is information only. Trust decisions use signed records.</p></footer>
</body>
</html>
`)
}
