import type { EvidenceEvent, EvidenceFilter } from '@chancery/sdk'
import { asJson } from '@chancery/protocol'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { wholeNumberOrDefault } from '../../arguments/numbers.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { table } from '../../output/table.ts'
import { searchArchive } from './search-archive.ts'

const FLAGS = {
  vendor: 'vendor_id',
  attestation: 'attestation_id',
  capability: 'capability',
  resource: 'resource_id',
  decision: 'decision_id',
  outcome: 'outcome',
  kind: 'entry_kind',
  since: 'since',
  until: 'until',
} as const

/** Runs `evidence search`, in the store or in an archive. */
export async function runEvidenceSearch(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const given = Object.entries(FLAGS).flatMap(([flag, name]) => {
    const value = options.text(flag)
    return value === undefined ? [] : [[name, value] as const]
  })
  const filter: EvidenceFilter = {
    ...Object.fromEntries(given),
    after_sequence: wholeNumberOrDefault(options, 'after', 0, Number.MAX_SAFE_INTEGER),
    limit: wholeNumberOrDefault(options, 'limit', 1, 1000),
  }
  const page = options.isSet('archive')
    ? await searchArchive(context, options, filter)
    : await (await connectAsOperator(context, options)).ask((client) => client.evidence.search(filter))
  const more = page.next_after_sequence === null ? '' : `\nMore: add --after ${page.next_after_sequence}`
  const head = ['SEQUENCE', 'RECORDED', 'KIND', 'OUTCOME', 'VENDOR', 'CAPABILITY', 'RESOURCE']
  const text = page.count === 0 ? 'Nothing found.' : `${table(head, page.entries.map(toRow), context.style)}${more}`
  return { data: asJson(page), text, ids: page.entries.map(({ entry }) => String(entry.store_sequence)) }
}

function toRow({ entry }: Pick<EvidenceEvent, 'entry'>): readonly string[] {
  const { store_sequence, recorded_at, entry_kind, outcome, vendor_id, capability, resource_id } = entry
  return [store_sequence, recorded_at, entry_kind, outcome, vendor_id, capability, resource_id].map((value) =>
    value === null ? '-' : String(value),
  )
}
