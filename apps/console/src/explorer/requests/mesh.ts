import { GATEWAY_ROUTES, type Mesh } from '@chancery/contract'
import { sendRequest, isSuccess } from './send-request.ts'

export async function loadMesh(): Promise<Mesh> {
  const reply = await sendRequest({ method: 'GET', target: GATEWAY_ROUTES.mesh.path })
  if (!isSuccess(reply)) throw new Error(`The mesh could not be read: status ${reply.status}.`)
  // Page and gateway are of one release, so the response has the contract's type.
  return JSON.parse(reply.text) as Mesh
}

const OLD_MS = 90_000

/** Returns why the drawing may be outdated; undefined while it is current. */
export function findStaleReason(mesh: Mesh, hasFailed: boolean, nowMs: number): string | undefined {
  const seconds = Math.max(0, Math.round((nowMs - Date.parse(mesh.observed_at)) / 1000))
  if (hasFailed) return `The gateway did not respond to the last request. This data was observed ${seconds} s ago.`
  if (mesh.stale === true)
    return `The gateway is reading the authorities again. This data was observed ${seconds} s ago.`
  if (seconds * 1000 > OLD_MS)
    return `This data was observed ${seconds} s ago, or the clock of this computer differs from the gateway's.`
  return undefined
}
