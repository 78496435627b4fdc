import { Refusal } from '@chancery/contract'
import type { JsonObject } from '@chancery/protocol'
import type { Call } from '@chancery/service-kit'
import type { ConnectomeState } from './state.ts'
import { readReported } from './requests.ts'
import { findVerifiedPath } from './verified-path.ts'

/**
 * GET /connectome/trust-path
 * Returns the path from one sovereign to another. It explains the graph and makes no treaty transitive. A path that
 * treaties of partners complete is shown, and is not trusted.
 */
export async function trustPath(call: Call, parts: ConnectomeState): Promise<JsonObject> {
  const from = call.query.first('from') ?? call.query.first('source') ?? ''
  const to = call.query.first('to') ?? call.query.first('target') ?? ''
  if (from === '' || to === '') throw new Refusal('missing_trust_path_parameters')
  return findVerifiedPath(parts, { from, to, reported: readReported(call.query, 'include') })
}
