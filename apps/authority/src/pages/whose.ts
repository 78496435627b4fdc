import { type GenesisBlock, fromBase64, sha256Hex } from '@chancery/protocol'
import { type Markup, markup } from '@chancery/service-kit'

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
