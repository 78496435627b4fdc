import type { NodePage, NodeSummary } from '@chancery/sdk'
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { CallError, at, read } from '../../client.ts'
import { Drawer } from '../../parts/drawer.tsx'
import { offerBlob } from '../../parts/file.ts'
import { Problem } from '../../parts/problem.tsx'
import { writeNodes } from './node-file.ts'
import type { FileFormat } from './node-file.ts'
import { nodeQuery } from './node-query.ts'

const PER_READ = 100

export interface ExportProps {
  readonly rows: readonly NodeSummary[]
  readonly query: URLSearchParams
  readonly onClose: () => void
}

/** Writes the shown page, or all rows that match the filters, to a file. */
export function ExportDrawer(props: ExportProps): JSX.Element {
  const { rows, query, onClose } = props
  const [count, setCount] = useState<number>()
  const [problem, setProblem] = useState<CallError>()
  const stop = useRef(new AbortController())
  useEffect(() => () => stop.current.abort(), [])
  const all = async (format: FileFormat): Promise<void> => {
    setProblem(undefined)
    setCount(0)
    try {
      const parts = await readAll(query, format, setCount, stop.current.signal)
      if (!stop.current.signal.aborted) save(parts, format)
    } catch (error) {
      if (!(error instanceof CallError)) throw error
      if (!stop.current.signal.aborted) setProblem(error)
    }
    setCount(undefined)
  }
  const isBusy = count !== undefined
  return (
    <Drawer
      isReading
      name="export"
      title="Export nodes"
      sentence="Writes the rows with their keys, states and times to a file in this browser."
      onClose={onClose}
    >
      {(['csv', 'jsonl'] as const).map((format) => (
        <section key={format}>
          <h3>{format === 'csv' ? 'CSV, for a spreadsheet' : 'JSON lines, for a program'}</h3>
          <p>
            <button type="button" class="btn" onClick={() => save([writeNodes(rows, format, true)], format)}>
              This page, {rows.length} rows
            </button>{' '}
            <button type="button" class="btn" aria-disabled={isBusy} onClick={() => isBusy || void all(format)}>
              All that match
            </button>
          </p>
        </section>
      ))}
      <p role="status" data-exported={count ?? ''}>
        {isBusy ? `${count.toLocaleString('en')} nodes read. Close the drawer to stop.` : ''}
      </p>
      {problem === undefined ? null : <Problem problem={problem} />}
    </Drawer>
  )
}

function save(parts: readonly string[], format: FileFormat): void {
  offerBlob(`nodes.${format}`, new Blob([...parts], { type: format === 'csv' ? 'text/csv' : 'application/jsonl' }))
}

/** Walks the list by its cursor. At the limit of the authority it waits for the stated time. */
async function readAll(
  query: URLSearchParams,
  format: FileFormat,
  onRead: (count: number) => void,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const parts: string[] = []
  let [count, cursor] = [0, undefined as string | undefined]
  do {
    const asked = { ...nodeQuery(query), limit: PER_READ, cursor }
    const page: NodePage | undefined = await read<NodePage>(at`/admin/nodes`, asked, signal).catch(waitAtLimit)
    if (page === undefined) continue
    parts.push(writeNodes(page.nodes, format, parts.length === 0))
    count += page.nodes.length
    onRead(count)
    cursor = page.next_cursor ?? undefined
    if (cursor === undefined) return parts
  } while (!signal.aborted)
  return parts
}

async function waitAtLimit(error: unknown): Promise<undefined> {
  if (!(error instanceof CallError) || error.status !== 429) throw error
  await new Promise((resolve) => setTimeout(resolve, (error.retryAfterSeconds ?? 5) * 1000))
}
