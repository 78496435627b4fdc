import { GatewayRefusal } from '@chancery/contract'
import { jsonText } from '@chancery/service-kit'
import type { Answer } from '@chancery/service-kit'
import type { GatewayCall } from '../../edge/call.ts'
import type { Office } from '../../office.ts'

/**
 * GET /v1/mesh
 * What the operator chose to publish, as its authorities have signed it. Public, so it costs them few reads per 20 s at
 * most, however many ask. With `network`, all published members of one network, page by page.
 */
export async function mesh({ trust, query }: GatewayCall, { mesh: view }: Office): Promise<Answer> {
  const asked = new URLSearchParams(query)
  const network = asked.get('network')
  if (network === null) return jsonText(await view.read(trust))
  const members = await view.readMembers(trust, network, asked.get('cursor') ?? undefined)
  if (members === undefined) throw new GatewayRefusal('parameter_invalid')
  return jsonText(members)
}
