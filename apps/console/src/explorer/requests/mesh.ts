import { GATEWAY_ROUTES } from '@chancery/contract'
import { ask, isSuccess } from './ask.ts'

/** The public mesh document; members keep their wire names (protocol/gateway 14.1). */
export interface Mesh {
  readonly observed_at: string
  readonly refresh_seconds: number
  readonly stale?: boolean
  readonly networks: readonly MeshNetwork[]
  readonly links: readonly MeshLink[]
  readonly members: readonly MeshMember[]
  readonly synchronization: readonly {
    readonly consumer: string
    readonly publisher: string
    readonly status: string
    readonly published_sequence: number | null
    readonly imported_sequence: number | null
    readonly last_imported_at: string | null
  }[]
}

export interface MeshNetwork {
  readonly id: string
  readonly available: boolean
  readonly trust_ready: boolean
  readonly crl_sequence: number
  readonly source_feed: { readonly sequence: number; readonly issued_at: string } | null
}

export interface MeshLink {
  readonly id: string
  readonly from: string
  readonly to: string
  readonly roles: readonly string[]
  readonly issued_at: string
  readonly expires_at: string
}

export interface MeshMember {
  readonly id: string
  readonly network: string
  readonly subject: string
  readonly roles: readonly string[]
  readonly expires_at: string
  readonly demo: boolean
}

export async function loadMesh(): Promise<Mesh> {
  const reply = await ask({ method: 'GET', target: GATEWAY_ROUTES.mesh.path })
  if (!isSuccess(reply)) throw new Error(`The mesh could not be read: status ${reply.status}.`)
  // Page and gateway are of one release: the form of the answer is the one above.
  return JSON.parse(reply.text) as Mesh
}

const OLD_MS = 90_000

/** Why the picture may no longer be true; undefined while it is fresh. */
export function whyStale(mesh: Mesh, hasFailed: boolean, nowMs: number): string | undefined {
  const seconds = Math.max(0, Math.round((nowMs - Date.parse(mesh.observed_at)) / 1000))
  if (hasFailed) return `The gateway did not answer the last time. What you see was observed ${seconds} s ago.`
  if (mesh.stale === true)
    return `The gateway is asking the authorities again. What you see was observed ${seconds} s ago.`
  if (seconds * 1000 > OLD_MS)
    return `What you see was observed ${seconds} s ago, or the clock of this computer differs from the gateway's.`
  return undefined
}
