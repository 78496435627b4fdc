import type { ComponentChildren, JSX } from 'preact'
import type { CallError } from '../client.ts'
import { nextStep } from '../words/errors.ts'
import { Icon } from './icon.tsx'
import type { IconName } from './icons.ts'
import { Copy } from './id.tsx'
import { Shape } from './state.tsx'

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
