import { type JsonObject, reportJson, writeJson } from '@chancery/protocol'
import { type HttpResponse, jsonText } from '@chancery/service-kit'
import type { EvidenceState } from './state.ts'
import type { History } from './queries/search.ts'

/** Stored lines with their verification, under the requested name. */
export async function historyResponse(
  parts: EvidenceState,
  named: JsonObject,
  { truncated, lines }: History,
  resource?: string,
): Promise<HttpResponse> {
  const report = await parts.storeVerifier.view(parts, lines, resource)
  const begin = writeJson({ ...named, truncated }).slice(0, -1)
  return jsonText(`${begin},"entries":[${lines.join(',')}],"verification":${writeJson(reportJson(report))}}`)
}
