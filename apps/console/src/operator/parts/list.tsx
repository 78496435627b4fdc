import type { ChangeTopic } from '@chancery/contract'
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { CallError } from '../client.ts'
import { address, navigate, withQuery } from '../router.ts'
import { useStore } from '../store.ts'
import { type Filter, Filters, Tabs } from './filters.tsx'
import type { IconName } from './icons.ts'
import { Newer } from './newer.tsx'
import { Pager, pageSize } from './pager.tsx'
import { Blank, Problem, StaleBanner } from './problem.tsx'
import { useRowKeys } from './row-keys.ts'
import { type LiveValue, useLive } from './use-live.ts'
import { type ListPage, useShown } from './use-shown.ts'
import { noteWalk } from './walk.ts'

export type { ListPage } from './use-shown.ts'

export interface Column<Row> {
  readonly head: string
  readonly cell: (row: Row) => ComponentChildren
  /** Where a phone shows it: a and b in the first line, c and d in the second. Others are hidden there. */
  readonly phone?: 'a' | 'b' | 'c' | 'd'
  /** Hidden on narrow screens: low below 1000 px, low2 below 860 px. */
  readonly low?: 'low' | 'low2'
  readonly isNumber?: true
}

/** What a list asks for: the filters of the address, and the position of this walk. */
export interface ListRequest {
  readonly query: URLSearchParams
  readonly limit: number
  readonly cursor: string | undefined
  readonly signal: AbortSignal
}

export interface ListProps<Row> {
  /** Plural, for headings and screen readers: «Nodes». */
  readonly name: string
  readonly columns: readonly Column<Row>[]
  readonly rowId: (row: Row) => string
  /** The name of a row, for tick boxes. */
  readonly rowName: (row: Row) => string
  /** The page of a row. Without it rows do not open. */
  readonly rowHref?: (row: Row) => string
  /** True for a row that belongs to the row above it. */
  readonly isSub?: (row: Row) => boolean
  readonly tabs?: Parameters<typeof Tabs>[0]
  readonly search?: { readonly placeholder: string; readonly label: string }
  readonly filters?: readonly Filter[]
  readonly load: (request: ListRequest) => Promise<ListPage<Row>>
  /** What the rows depend on: the list is read again after each change of it. */
  readonly topics: readonly ChangeTopic[]
  readonly empty: {
    readonly icon: IconName
    readonly title: string
    readonly text: string
    readonly action?: ComponentChildren
  }
  /** How rows are ordered, after the count. */
  readonly order: string
  /** Tick boxes, and what can be done to the ticked rows. */
  readonly bulk?: (rows: readonly Row[]) => ComponentChildren
  /** Shown at the right of the filters. */
  readonly aside?: ComponentChildren
  /** Gets the state of each read, for the bar of the page. */
  readonly onLive?: (live: LiveValue<ListPage<Row>>) => void
}

/** A list of the authority: tabs, search and filters in the address, 50 rows, a cursor, and every state of a list. */
export function List<Row>(props: ListProps<Row>): JSX.Element {
  const { query, state } = useStore(address)
  const cursors = readCursors(state)
  const limit = pageSize()
  const cursor = cursors.at(-1)
  // An open drawer changes the address, not the rows.
  const asked = [...query].filter(([name]) => name !== 'do' && name !== 'open').join()
  const key = `${props.name} ${asked} ${limit} ${cursor ?? ''}`
  const read = useLive(key, (signal) => props.load({ query, limit, cursor, signal }), props.topics)
  const { page, newer, showNewer } = useShown(key, read, props.rowId, limit)
  const live = { ...read, value: page }
  useEffect(() => props.onLive?.(live), [live.readAt, live.problem, live.isStale])
  const { value } = live
  useEffect(() => (value === undefined ? undefined : noteWalk(props, value, cursors, limit)), [value])
  return (
    <>
      {props.tabs === undefined ? null : <Tabs {...props.tabs} />}
      {props.search === undefined && props.filters === undefined ? null : (
        <Filters search={props.search} filters={props.filters ?? []} aside={props.aside} />
      )}
      <p class="unseen" role="status">
        {value === undefined ? '' : `${value.rows.length} rows`}
      </p>
      {live.problem === undefined || isAway(live.problem) ? null : <Problem problem={live.problem} />}
      {live.problem !== undefined && isAway(live.problem) ? (
        <StaleBanner readAt={live.readAt} nextAt={live.nextAt} />
      ) : null}
      <Newer count={newer} name={props.name} onShow={showNewer} />
      <Rows {...props} live={live} isFiltered={filterNames(props).some((name) => query.has(name))} />
      {value === undefined || (value.rows.length === 0 && cursors.length === 0) ? null : (
        <Pager
          first={cursors.length * limit + 1}
          count={value.rows.length}
          total={value.total}
          order={props.order}
          onBack={cursors.length === 0 ? undefined : () => history.back()}
          onNext={value.nextCursor === null ? undefined : () => goTo([...cursors, value.nextCursor ?? ''])}
        />
      )}
    </>
  )
}

const isAway = (problem: CallError): boolean => problem.status === 0

/** The cursors of this walk are in the history and not in the address, because a cursor ages. */
function readCursors(state: Readonly<Record<string, unknown>>): readonly string[] {
  const { cursors } = state
  return Array.isArray(cursors) ? cursors.filter((each) => typeof each === 'string') : []
}

function goTo(cursors: readonly string[]): void {
  navigate(location.pathname + location.search, { state: { cursors } })
}

function Rows<Row>(
  props: ListProps<Row> & { readonly live: LiveValue<ListPage<Row>>; readonly isFiltered: boolean },
): JSX.Element {
  const { live, bulk } = props
  const rows = live.value?.rows ?? []
  const [ticked, setTicked] = useState<ReadonlySet<string>>(new Set())
  const chosen = rows.filter((row) => ticked.has(props.rowId(row)))
  const at = useRowKeys(rows.length, {
    open: (index) => {
      const row = rows[index]
      if (row !== undefined && props.rowHref !== undefined) navigate(props.rowHref(row))
    },
    isDrawer: (index) => {
      const row = rows[index]
      return row !== undefined && props.rowHref?.(row).split('?')[0] === location.pathname
    },
    tick: bulk === undefined ? undefined : (index) => toggle(rows[index]),
    copy: (index) => {
      const row = rows[index]
      if (row !== undefined) void navigator.clipboard.writeText(props.rowId(row))
    },
  })
  const toggle = (row: Row | undefined): void => {
    if (row === undefined) return
    const next = new Set(ticked)
    if (!next.delete(props.rowId(row))) next.add(props.rowId(row))
    setTicked(next)
  }
  if (live.value !== undefined && rows.length === 0) return <NoRows {...props} />
  if (live.value === undefined && !live.isSlow) return <div aria-busy={live.problem === undefined} />
  return (
    <>
      <RowTable list={props} rows={rows} live={live} at={at} ticked={ticked} toggle={toggle} />
      {bulk === undefined || chosen.length === 0 ? null : (
        <div class="pick on" role="region" aria-label="Selected">
          <b>{chosen.length} selected</b>
          {bulk(chosen)}
        </div>
      )}
    </>
  )
}

function RowTable<Row>(props: {
  readonly list: ListProps<Row>
  readonly rows: readonly Row[]
  readonly live: LiveValue<ListPage<Row>>
  readonly at: number
  readonly ticked: ReadonlySet<string>
  readonly toggle: (row: Row) => void
}): JSX.Element {
  const { list, live } = props
  const { columns, bulk } = list
  return (
    <div class="table rows" role="region" aria-label={list.name} tabIndex={0} aria-busy={live.value === undefined}>
      <table class={live.isStale ? 'dim' : ''}>
        <thead>
          <tr>
            {bulk === undefined ? null : (
              <th scope="col">
                <span class="unseen">Select</span>
              </th>
            )}
            {columns.map((column) => (
              <th scope="col" key={column.head} class={classOf(column)}>
                {column.head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {live.value === undefined
            ? [1, 2, 3, 4, 5].map((line) => <BoneRow key={line} columns={columns} hasTick={bulk !== undefined} />)
            : props.rows.map((row, index) => (
                <OneRow
                  key={list.rowId(row)}
                  list={list}
                  row={row}
                  isAt={index === props.at}
                  isTicked={props.ticked.has(list.rowId(row))}
                  onTick={() => props.toggle(row)}
                />
              ))}
        </tbody>
      </table>
    </div>
  )
}

function OneRow<Row>(props: {
  readonly list: ListProps<Row>
  readonly row: Row
  readonly isAt: boolean
  readonly isTicked: boolean
  readonly onTick: () => void
}): JSX.Element {
  const { list, row } = props
  const href = list.rowHref?.(row)
  const onClick = (event: MouseEvent): void => {
    // A click on a control or on selected text is not a click on the row.
    const isControl = event.target instanceof Element && event.target.closest('a, button, input, label') !== null
    if (href === undefined || isControl || (getSelection()?.toString() ?? '') !== '') return
    if (event.ctrlKey || event.metaKey) window.open(href)
    else navigate(href)
  }
  return (
    <tr
      class={`${props.isAt ? 'at' : ''}${props.isTicked ? ' on' : ''}${href === undefined ? '' : ' opens'}${list.isSub?.(row) === true ? ' sub' : ''}`}
      onClick={onClick}
    >
      {list.bulk === undefined ? null : (
        <td>
          <input
            type="checkbox"
            class="check"
            aria-label={`Select ${list.rowName(row)}`}
            checked={props.isTicked}
            onChange={props.onTick}
          />
        </td>
      )}
      {list.columns.map((column) => (
        <td key={column.head} class={classOf(column)}>
          {column.cell(row)}
        </td>
      ))}
    </tr>
  )
}

function classOf<Row>({ phone, low, isNumber }: Column<Row>): string {
  return [phone === undefined ? '' : `p-${phone}`, low ?? '', isNumber === true ? 'num' : ''].filter(Boolean).join(' ')
}

function BoneRow<Row>(props: { readonly columns: readonly Column<Row>[]; readonly hasTick: boolean }): JSX.Element {
  return (
    <tr>
      {props.hasTick ? <td /> : null}
      {props.columns.map((column) => (
        <td key={column.head} class={classOf(column)}>
          <span class="bone" />
        </td>
      ))}
    </tr>
  )
}

/** The parameters that narrow the rows. A tab that is another view does not. */
function filterNames<Row>({ tabs, filters = [] }: ListProps<Row>): readonly string[] {
  const names = ['q', tabs?.parameter, ...filters.map(({ parameter }) => parameter)]
  return names.flatMap((name) => (name === undefined || name === 'tab' ? [] : [name]))
}

function NoRows<Row>(props: ListProps<Row> & { readonly isFiltered: boolean }): JSX.Element {
  if (!props.isFiltered) {
    const { action, ...empty } = props.empty
    return <Blank {...empty}>{action}</Blank>
  }
  const cleared = Object.fromEntries(filterNames(props).map((name) => [name, undefined]))
  return (
    <Blank
      icon="search"
      title="Nothing matches"
      text={`No ${props.name.toLowerCase()} match this search and these filters.`}
    >
      <a class="btn" href={withQuery(cleared)}>
        Clear search and filters
      </a>
    </Blank>
  )
}
