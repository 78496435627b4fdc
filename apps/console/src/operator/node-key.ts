/** Node keys in addresses are base64url without padding: certificates change, keys do not. */
export function nodeHref(publicKey: string): string {
  return `/operator/nodes/${keyToPath(publicKey)}`
}

export function agentHref(publicKey: string): string {
  return `/operator/agents/${keyToPath(publicKey)}`
}

export function keyToPath(publicKey: string): string {
  return publicKey.replace(/=+$/, '').replaceAll('+', '-').replaceAll('/', '_')
}

/** Returns the key in base64, or undefined when the text is not a key of 32 bytes. */
export function keyFromPath(text: string): string | undefined {
  return /^[A-Za-z0-9_-]{43}$/.test(text) ? `${text.replaceAll('-', '+').replaceAll('_', '/')}=` : undefined
}

/** The name of a node for people: its label, else its agent, else the begin of its key. */
export function nodeName(node: {
  readonly node_public_key: string
  readonly label?: string | null
  readonly agent_id?: string | null
}): string {
  return node.label ?? node.agent_id ?? `node ${node.node_public_key.slice(0, 8)}`
}

/** The name of a node in a confirmation: its label, else the begin of its key. A node can change its agent id. */
export function confirmedName(node: { readonly node_public_key: string; readonly label?: string | null }): string {
  return nodeName({ node_public_key: node.node_public_key, label: node.label ?? null })
}
