import type { ComponentChildren, FunctionComponent, JSX } from 'preact'
import type { CallError } from '../client.ts'
import { nextStep } from '../words/errors.ts'
import { Drawer, Icon, Shape } from './drawer.tsx'
import type { IconName } from './icons.ts'
import { Copy } from './id.tsx'
import { useEffect, useState } from 'preact/hooks'

/** A refusal: the sentence, what to do, the code and the request id. */
export function Problem({ problem }: { readonly problem: CallError }): JSX.Element {
  const { code, message, requestId, retryAfterSeconds } = problem
  return (
    <div class="banner bad" role="alert" data-code={code}>
      <Shape shape="square" />
      <div>
        <b>{message}</b>{' '}
        <span>
          {retryAfterSeconds === undefined
            ? nextStep(code, problem.status)
            : `It continues by itself in ${retryAfterSeconds} seconds.`}
        </span>{' '}
        <code class="id">{code}</code>
        {requestId === undefined ? null : (
          <>
            {' '}
            · request <code class="id">{requestId.slice(0, 8)}…</code>
            <Copy text={requestId} what="the request id" />
          </>
        )}
      </div>
    </div>
  )
}

/** What a page shows when there is nothing yet, nothing matches, or a part is off. */
export function Blank(props: {
  readonly icon: IconName
  readonly title: string
  readonly text: string
  readonly children?: ComponentChildren
}): JSX.Element {
  return (
    <div class="blank">
      <Icon name={props.icon} />
      <h2>{props.title}</h2>
      <p>{props.text}</p>
      {props.children}
    </div>
  )
}

/** The rows of a page that is older than 45 seconds stay, with their time. */
export function StaleBanner(props: {
  readonly readAt: number | undefined
  readonly nextAt: number | undefined
}): JSX.Element {
  const time = (at: number): string => `${new Date(at).toISOString().slice(11, 19)} UTC`
  return (
    <div class="banner watch" role="status">
      <Shape shape="triangle" />
      <span>
        The authority does not respond. {props.readAt === undefined ? '' : `These rows are of ${time(props.readAt)}.`}{' '}
        {props.nextAt === undefined ? '' : `The next attempt is at ${time(props.nextAt)}.`}
      </span>
    </div>
  )
}

type State<Value> = { readonly value?: Value; readonly hasFailed?: true }

/** Loads a script, once. A load that failed can be tried again. `isWanted` false: it is not loaded yet. */
export function useLoaded<Value>(
  load: () => Promise<Value>,
  isWanted = true,
): State<Value> & { readonly again: () => void } {
  const [state, setState] = useState<State<Value>>({})
  const run = (): void => {
    setState({})
    load().then(
      (value) => setState({ value }),
      () => setState({ hasFailed: true }),
    )
  }
  useEffect(() => {
    if (isWanted && state.value === undefined) run()
  }, [isWanted])
  return { ...state, again: run }
}

const TITLE = 'A script of this page did not load'
const TEXT =
  'Nothing was opened and nothing was signed. Check the connection to the authority, and try again. If that does not help, load the page again and unlock it.'

/** In place of a part whose script did not load. */
export function NotLoaded({ onAgain }: { readonly onAgain: () => void }): JSX.Element {
  return (
    <div role="alert" data-not-loaded>
      <Blank icon="help" title={TITLE} text={TEXT}>
        <button type="button" class="btn primary" onClick={onAgain}>
          Try again
        </button>
      </Blank>
    </div>
  )
}

/** In place of a drawer whose script did not load. */
export function NotOpened(props: { readonly onAgain: () => void; readonly onClose: () => void }): JSX.Element {
  return (
    <Drawer isReading name="not-loaded" title="Not opened" onClose={props.onClose}>
      <NotLoaded onAgain={props.onAgain} />
    </Drawer>
  )
}

/** Returns a drawer whose script is loaded when it is opened first. */
export function lazyDrawer<Props extends { readonly onClose: () => void }>(
  load: () => Promise<FunctionComponent<Props>>,
): FunctionComponent<Props> {
  return function LazyDrawer(props: Props) {
    const { value: Loaded, hasFailed, again } = useLoaded(async () => ({ Component: await load() }))
    if (Loaded !== undefined) return <Loaded.Component {...props} />
    return hasFailed === true ? <NotOpened onAgain={again} onClose={props.onClose} /> : null
  }
}
