import { reportJson, writeJson } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import { jsonText } from '@chancery/service-kit'
import type { Answer } from '@chancery/service-kit'
import type { Office } from '../../office.ts'
import type { History } from './search-store.ts'

/** Stored lines with their verification, under the name that was asked for. */
export async function historyAnswer(
  office: Office,
  named: JsonObject,
  { truncated, lines }: History,
  resource?: string,
): Promise<Answer> {
  const report = await office.evidence.inspector.view(office, lines, resource)
  const begin = writeJson({ ...named, truncated }).slice(0, -1)
  return jsonText(`${begin},"entries":[${lines.join(',')}],"verification":${writeJson(reportJson(report))}}`)
}
