"""Incidents in Chinese and Japanese messages: told on their day, by complete words, without particles."""

import itertools
import json
import random

import pytest

from odl.alerts import breakdown, read
from odl.cli import main

DAYS, A_DAY, DAY = 26, 12, 20
CHINESE = {
    "usual": "{who}{when}的{item}{fault}，{ask}。",
    "who": ["我", "我妈妈", "同事", "家里老人", "朋友", "室友"],
    "when": ["昨天买", "上周收到", "刚刚拆开", "去年买", "在门店买", "朋友推荐"],
    "item": ["手机", "耳机", "电饭锅", "洗衣机", "空调", "冰箱", "路由器", "充电器", "键盘", "台灯", "沙发", "吹风机"],
    "fault": ["坏了", "没有反应", "声音很大", "颜色不对", "漏水", "少了配件", "按键失灵", "经常断线", "开不了机"],
    "ask": ["请问怎么处理", "希望尽快解决", "什么时候可以退款", "客服一直不回复", "电话打不通", "要怎么联系商家"],
    "incident": ["吃了你们的榴莲千层蛋糕以后上吐下泻", "榴莲千层蛋糕里面有异物，拉肚子一晚上",
                 "昨天买的榴莲千层蛋糕变质了", "榴莲千层蛋糕吃完发烧，医生说是食物中毒",
                 "门店的榴莲千层蛋糕发霉，孩子食物中毒", "要求赔偿，榴莲千层蛋糕导致食物中毒"],
    "name": "榴莲千层蛋糕",
}  # fmt: skip
JAPANESE = {
    "usual": "{when}{item}が{fault}。{ask}。",
    "when": ["昨日買った", "先週届いた", "去年買った", "セールで注文した", "店舗で買った", "初めて使った"],
    "item": ["イヤホン", "炊飯器", "洗濯機", "エアコン", "冷蔵庫", "テレビ", "充電器", "傘", "机", "掃除機", "自転車"],
    "fault": ["壊れました", "動きません", "音がうるさいです", "色が違いました", "水が漏れます", "部品が足りません"],
    "ask": ["どうすればいいですか", "交換してもらえますか", "連絡がまだ来ません", "困っています"],
    "incident": ["抹茶ロールケーキに金属片が入っていました", "抹茶ロールケーキから金属片が出てきました",
                 "昨日買った抹茶ロールケーキに異物混入がありました", "子どもが食べた抹茶ロールケーキに金属片",
                 "福岡で買った抹茶ロールケーキに異物混入", "抹茶ロールケーキの異物混入について説明してください"],
    "name": "抹茶ロールケーキ",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("words", [CHINESE, JAPANESE], ids=["chinese", "japanese"])
def test_an_incident_is_told_on_its_day_by_complete_words(words, tmp_path, capsys):
    draw, number = random.Random(0), itertools.count()
    parts = {name: values for name, values in words.items() if isinstance(values, list)}
    with open(tmp_path / "messages.jsonl", "w", encoding="utf-8") as file:
        for day in range(DAYS):
            texts = [
                words["usual"].format(**{name: draw.choice(each) for name, each in parts.items()})
                for _ in range(A_DAY)
            ] + (words["incident"] if day == DAY else [])
            for text in texts:
                row = {"id": f"m{next(number)}", "time": f"2026-01-{day + 1:02}", "text": text}
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
    folder = tmp_path / "own"
    assert main(["init", str(folder), str(tmp_path / "messages.jsonl"), "--period", "day"]) == 0
    assert main(["run", str(folder)]) == 0
    spoke = [one for one in read.alerts_of(folder).periods if one.headlines]
    (period,) = spoke
    (headline,) = period.headlines
    assert period.first == 1768953600000  # 2026-01-21
    assert headline.name[0] == words["name"] and headline.size == len(words["incident"])
    for row in headline.examples:
        phrases = breakdown.opening(period.documents_of[row])
        assert len(phrases) == len({*phrases}) and words["name"] in phrases[0] + "".join(phrases)
        assert not any(phrase.startswith(("的", "た", "った")) for phrase in phrases)
        assert all(len(phrase) > 1 for phrase in phrases)
    capsys.readouterr()
    assert main(["new", str(folder), "--since", "2026-01-21", "--until", "2026-01-21"]) == 0
    assert words["name"] in capsys.readouterr().out
