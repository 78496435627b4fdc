import type { NodePage, NodeSummary } from '@chancery/sdk/authority'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { at, read } from '../../client.ts'
import { ExportDrawer as Export, type FileSource } from '../../parts/export.tsx'
import { type FileFormat, writeNodes } from './node-file.ts'
import { nodeQuery } from './node-query.ts'

const PER_READ = 100
const FORMATS = [
  { value: 'csv', text: 'CSV, for a spreadsheet', name: 'CSV', type: 'text/csv' },
  { value: 'jsonl', text: 'JSON lines, for a program', name: 'JSON lines', type: 'application/jsonl' },
] as const

export interface ExportProps {
  readonly rows: readonly NodeSummary[]
  readonly query: URLSearchParams
  readonly onClose: () => void
}

/** Writes the shown page, or all rows that match the filters, to a file. */
export function ExportDrawer({ rows, query, onClose }: ExportProps): JSX.Element {
  const [format, setFormat] = useState<FileFormat>('csv')
  const [isAll, setAll] = useState(false)
  const { name, type } = FORMATS.find(({ value }) => value === format) ?? FORMATS[0]
  const what = isAll ? 'all nodes that match' : `${rows.length} ${rows.length === 1 ? 'node' : 'nodes'} of this page`
  const file = { file: `nodes.${format}`, type }
  return (
    <Export
      title="Export nodes"
      sentence="Writes the rows with their keys, states and times to a file in this browser."
      rows="nodes"
      button={`Export ${what} as ${name}`}
      source={isAll ? { ...file, ...allNodes(query, format) } : { ...file, ...shownNodes(rows, format) }}
      onClose={onClose}
      choices={(isDisabled) => (
        <fieldset class="plain" disabled={isDisabled}>
          <Options
            label="Rows"
            of={[
              ['page', `This page, ${rows.length} rows`, !isAll],
              ['all', 'All that match the filters', isAll],
            ]}
            onChoice={(value) => setAll(value === 'all')}
          />
          <Options
            label="Format"
            of={FORMATS.map(({ value, text }) => [value, text, value === format] as const)}
            onChoice={(value) => setFormat(value === 'jsonl' ? 'jsonl' : 'csv')}
          />
        </fieldset>
      )}
    />
  )
}

function Options(props: {
  readonly label: string
  readonly of: readonly (readonly [value: string, text: string, isChosen: boolean])[]
  readonly onChoice: (value: string) => void
}): JSX.Element {
  const id = `export-${props.label.toLowerCase()}`
  return (
    <div class="field">
      <span class="label" id={id}>
        {props.label}
      </span>
      <div class="seg" role="group" aria-labelledby={id}>
        {props.of.map(([value, text, isChosen]) => (
          <button type="button" key={value} aria-pressed={isChosen} onClick={() => props.onChoice(value)}>
            {text}
          </button>
        ))}
      </div>
    </div>
  )
}

type Nodes = Pick<FileSource<string | undefined>, 'start' | 'read'>

function shownNodes(rows: readonly NodeSummary[], format: FileFormat): Nodes {
  const part = { text: writeNodes(rows, format, true), count: rows.length, next: undefined }
  return { start: undefined, read: () => Promise.resolve(part) }
}

/** Walks the list by its cursor. */
function allNodes(query: URLSearchParams, format: FileFormat): Nodes {
  return {
    start: undefined,
    async read(cursor, isFirst, signal) {
      const asked = { ...nodeQuery(query), limit: PER_READ, cursor }
      const { nodes, next_cursor } = await read<NodePage>(at`/admin/nodes`, asked, signal)
      return { text: writeNodes(nodes, format, isFirst), count: nodes.length, next: next_cursor ?? undefined }
    },
  }
}
