/** Reads pages until enough rows are read or none is left. */
export async function readAll<Row>(
  most: number,
  readPage: (
    limit: number,
    cursor: string | undefined,
  ) => Promise<{ readonly rows: readonly Row[]; readonly next: string | null }>,
): Promise<{ readonly rows: readonly Row[]; readonly isCut: boolean }> {
  const rows: Row[] = []
  for (let cursor: string | undefined; ;) {
    const page = await readPage(Math.min(1000, most - rows.length), cursor)
    rows.push(...page.rows)
    const next = page.next ?? undefined
    if (next === undefined) return { rows, isCut: false }
    if (rows.length >= most || next === cursor) return { rows, isCut: true }
    cursor = next
  }
}
