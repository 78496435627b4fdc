import { shape } from '@chancery/protocol'
import type { AnswerOf } from '../form.ts'
import { listOf, text, textOrNull, whole } from '../members.ts'
import { type Routes, routes } from '../route.ts'

const { open, required } = shape

const facts = {
  swagger: {
    id: 'GET /swagger.json',
    access: 'public',
    limit: 'public',
    stability: 'internal',
    success: 200,
    response: 'json',
    summary: 'OpenAPI description',
    purpose: 'Gives the machine-readable description of every route.',
    answer: shape.object,
  },
  surfaces: {
    id: 'GET /surfaces',
    access: 'public',
    limit: 'public',
    stability: 'internal',
    success: 200,
    response: 'json',
    summary: 'Map of surfaces',
    purpose: 'Groups all routes and commands by who may use them.',
    /** Method, group and access are not restricted: a newer authority may add values. */
    answer: open({
      network: text,
      version: text,
      groups: listOf(
        open({
          group: text,
          surfaces: listOf(
            open({
              method: text,
              target: text,
              title: text,
              purpose: text,
              access: text,
              auth_hint: text,
              rate_limit: textOrNull,
            }),
            10_000,
          ),
        }),
        100,
      ),
      counts: required(open({ http: whole, cli: whole, browser_safe: whole })),
    }),
  },
  apiPage: {
    id: 'GET /api-reference',
    access: 'public',
    limit: 'public',
    stability: 'internal',
    success: 200,
    response: 'html',
    summary: 'Route reference page',
    purpose: 'Shows every route to a human reader.',
  },
  cliPage: {
    id: 'GET /cli-reference',
    access: 'public',
    limit: 'public',
    stability: 'internal',
    success: 200,
    response: 'html',
    summary: 'Command reference page',
    purpose: 'Shows every command to a human reader.',
  },
} as const

/** The surface describing itself, derived from this table and the command table (protocol/core 22.3, 22.4). */
export const reference: Routes<typeof facts> = routes(facts)

export type Surfaces = AnswerOf<typeof reference.surfaces>
