import { jsonText } from '@chancery/service-kit'
import type { Answer } from '@chancery/service-kit'
import type { GatewayCall } from '../../edge/call.ts'
import type { Office } from '../../office.ts'

/**
 * GET /v1/mesh
 * What the operator chose to publish, as its authorities have signed it. Public, so it costs them four reads per 20 s at
 * most, however many ask.
 */
export async function mesh({ trust }: GatewayCall, office: Office): Promise<Answer> {
  return jsonText(await office.mesh.read(trust))
}
