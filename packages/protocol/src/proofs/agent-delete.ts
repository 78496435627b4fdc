import { toBase64 } from '../canonical/base64.ts'
import { toUtf8 } from '../canonical/utf8.ts'
import { type Signer, verifySignature } from '../signing/keys.ts'

/** Takes an agent out of the registry (protocol/core 13.4). */
export type AgentDelete = { readonly version: 'v1'; readonly signed_at: string; readonly signature: string }

/** Four parts joined by a bar; the key comes from the path, so the envelope cannot be aimed at another agent. */
export function agentDeleteBytes(nodePublicKey: string, signedAt: string, version = 'v1'): Uint8Array {
  return toUtf8(`delete-agent|${version}|${nodePublicKey}|${signedAt}`)
}

export function verifyAgentDelete(nodePublicKey: string, envelope: Omit<AgentDelete, 'version'>): Promise<boolean> {
  return verifySignature(nodePublicKey, agentDeleteBytes(nodePublicKey, envelope.signed_at), envelope.signature)
}

export async function signAgentDelete(signedAt: string, signer: Signer): Promise<AgentDelete> {
  const sig = await signer.sign(agentDeleteBytes(signer.publicKey, signedAt))
  return { version: 'v1', signed_at: signedAt, signature: toBase64(sig) }
}
