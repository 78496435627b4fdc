import type { JSX } from 'preact'
import { readChoice, storeChoice } from '../choices.ts'
import { address, navigate } from '../router.ts'
import { Icon } from './icon.tsx'

const SIZES = [25, 50, 100] as const

/** Rows of a page: 50, or 25 where 50 take more than three screens, or as chosen in this browser. */
export function pageSize(): number {
  const chosen = Number(readChoice('rows'))
  if (SIZES.some((size) => size === chosen)) return chosen
  return matchMedia('(max-width: 720px), (max-height: 980px)').matches ? 25 : 50
}

export function Pager(props: {
  readonly first: number
  readonly count: number
  readonly total: number | undefined
  readonly order: string
  readonly onBack: (() => void) | undefined
  readonly onNext: (() => void) | undefined
}): JSX.Element {
  const last = props.first + props.count - 1
  const range = props.count === 0 ? 'No more rows' : `${props.first} to ${last}`
  const total =
    props.total === undefined
      ? ''
      : ` of ${props.total > 10_000 ? 'more than 10,000' : props.total.toLocaleString('en')}`
  const choose = (size: string): void => {
    storeChoice('rows', size)
    // Another size makes other pages, so the walk begins again.
    navigate(location.pathname + location.search, { replace: true })
    address.set({ ...address.get() })
  }
  return (
    <div class="pager">
      <span>
        {range}
        {total}, {props.order}
      </span>
      <div class="end">
        <label class="wide-only">
          <select
            class="input tiny"
            value={String(pageSize())}
            onChange={({ currentTarget }) => choose(currentTarget.value)}
          >
            {SIZES.map((size) => (
              <option key={size} value={String(size)}>
                {size} a page
              </option>
            ))}
          </select>
          <span class="unseen">Rows of a page</span>
        </label>
        <button type="button" class="btn tiny" disabled={props.onBack === undefined} onClick={props.onBack}>
          <Icon name="left" />
          Back
        </button>
        <button type="button" class="btn tiny" disabled={props.onNext === undefined} onClick={props.onNext}>
          Next
          <Icon name="right" />
        </button>
      </div>
    </div>
  )
}
