import type { Tx } from '../../store/database.ts'

/** What lets a node fetch lists only when they changed (protocol/core 7). */
export interface Notices {
  readonly crl_sequence: number
  readonly policy_id: string | null
}

export async function readNotices(db: Tx): Promise<Notices> {
  const row = await db
    .selectNoFrom((eb) => [
      eb
        .selectFrom('crl_versions')
        .select((each) => each.fn.max('sequence').as('sequence'))
        .as('sequence'),
      eb.selectFrom('policy_versions').select('policy_id').where('active', '=', 1).as('policy_id'),
    ])
    .executeTakeFirst()
  return { crl_sequence: Number(row?.sequence ?? 0), policy_id: row?.policy_id ?? null }
}
