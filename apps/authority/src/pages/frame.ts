import { SCRIPT_POLICY, trustedTypesPolicy } from '@chancery/contract'
import { type HttpResponse, type Markup, html, markup } from '@chancery/service-kit'
import { toDisplay } from './display-time.ts'
import type { Core } from '../core.ts'
import { type GenesisBlock, fromBase64, sha256Hex, writeInstant } from '@chancery/protocol'

/** Name, version and key of the network, at the top of every page. */
export function whose(genesis: GenesisBlock, href: string): Markup {
  const { network_name, network_version, network_authority } = genesis
  return markup`<a class="whose" href="${href}"><img src="/operator-console-static/logo.svg" alt="" width="28" height="28"><span><b>${network_name}</b><small title="Fingerprint of the authority key">v${network_version.replace(/^v/, '')} · <span class="mono">${shortFingerprint(network_authority.public_key)}</span></small></span></a>`
}

/** Three groups of four digits, to compare at a glance. The whole value is on the page of keys. */
function shortFingerprint(publicKey: string): string {
  const digits = sha256Hex(fromBase64(publicKey) ?? new Uint8Array()).slice(0, 12)
  return digits.replaceAll(/(.{4})(?=.)/g, '$1 ')
}

/** The pages in the order of the menu: what the network shows, then the references. */
const MENU = [
  { path: '/', name: 'Overview' },
  { path: '/connectome', name: 'Connectome' },
  { path: '/atlas', name: 'Atlas' },
] as const
const REFERENCES = [
  { path: '/api-reference', name: 'API' },
  { path: '/cli-reference', name: 'Commands' },
] as const
const LOCK =
  'M4.7 7h6.6a1.5 1.5 0 0 1 1.5 1.5v3.6a1.5 1.5 0 0 1-1.5 1.5H4.7a1.5 1.5 0 0 1-1.5-1.5V8.5A1.5 1.5 0 0 1 4.7 7zM5.3 7V5a2.7 2.7 0 0 1 5.4 0v2'

export interface Page {
  /** The entry of the menu. The script uses it to select what to enhance. */
  readonly path: (typeof MENU | typeof REFERENCES)[number]['path']
  readonly title: string
  readonly content: Markup
}

/**
 * The shell of every page: one style sheet, one script, both of this origin, and nothing inline, so that the strict
 * content policy has no exception (protocol/core 3). All content is in the page before any script runs.
 */
export function page(parts: Pick<Core, 'clock' | 'network'>, { path, title, content }: Page): HttpResponse {
  const { genesis } = parts.network
  return html(markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${trustedTypesPolicy(SCRIPT_POLICY)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${title} · ${genesis.network_name}</title>
<link rel="icon" href="/favicon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/operator-console-static/styles.css">
<script type="module" src="/operator-console-static/console.js"></script>
</head>
<body data-page="${path}">
<a class="skip" href="#content">Skip to content</a>
<header class="top">
${whose(genesis, '/')}
<nav aria-label="Pages">${links(MENU, path)}</nav>
<div class="end"><nav aria-label="References">${links(REFERENCES, path)}</nav><a class="btn primary" href="/operator"><svg class="i" viewBox="0 0 16 16" aria-hidden="true"><path d="${LOCK}"/></svg>Operators</a></div>
</header>
<main class="public stack" id="content" tabindex="-1">
${content}
</main>
<footer class="bottom"><p>As of <time>${toDisplay(writeInstant(parts.clock.now()))}</time><span id="live"></span></p><p class="quiet">This page is information only. Trust decisions use signed records.</p></footer>
</body>
</html>
`)
}

function links(entries: typeof MENU | typeof REFERENCES, current: Page['path']): Markup {
  return markup`<ul>${entries.map(
    ({ path, name }) =>
      markup`<li><a href="${path}"${path === current && markup` aria-current="page"`}>${name}</a></li>`,
  )}</ul>`
}
