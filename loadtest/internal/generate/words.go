package generate

import "strings"

// vocabulary is what generated texts are made of.
var vocabulary = strings.Fields(`
able about above across act add age ago air all along also always among and animal answer any
apple area arm around arrive art ask autumn away back ball bank base basket bay beach bear bed
before begin behind bell below best better between big bird black blue boat body book both
bottle bottom bowl box branch bread bridge bright bring brother brown build burn bus busy buy
cake call came camp candle car card care carry castle cat catch center chair change child choose
circle city class clean clear climb clock close cloth cloud coat cold color come common cook
cool copper corn corner cost cotton count country cover cross cup cut dance dark daughter day
deep deer desk dinner dish doctor dog door down draw dream dress drink drive dry duck dust each
early earth east easy eat edge egg eight end engine enough even evening every eye face fall
family far farm fast father feather feed field fight fill find fine finger fire first fish five
floor flower fly follow food foot forest forget form four fox free fresh friend from fruit full
garden gate gentle give glad glass goat gold good grain grass gray great green ground group grow
half hammer hand happy harbor hat hear heart heavy help hill hold home honey hope horse hot hour
house hundred ice idea inch ink iron island join journey jump keep kettle key kind king kitchen
knife know ladder lake lamp land language large last laugh leaf learn leather left lemon letter
light lion list listen little live long look lunch machine make many map market meadow meal
measure meet metal middle milk mill mind minute mirror money month moon morning mother mountain
mouse mouth move music name narrow near need needle nest never new next night nine noise north
nose note number oak ocean office oil old once onion open orange order other oven page paint
paper parcel park part path peach pear pencil people pepper piano picture piece pilot place
plain plane plant plate play pocket point pond poor port potato press pretty prince question
quick quiet rain read ready red reply rest rice rich ride right ring river road rock roof room
root rope rose round run sail salt same sand school sea season second seed seven shade sheep
shelf ship shirt shoe shop short shout side silver simple sing sister six skin sky sleep slow
small smile smoke snow soap soft soil song soon sound soup south space spoon spring square
stairs star station steam steel step still stone stop store storm story straight street strong
sugar summer sun sweet swim table tail talk tall tea teach ten tent thick thin thing think third
thread three thunder ticket time tin today together tomorrow tower town train travel tree true
turn twelve uncle under valley value vegetable village visit voice wagon walk wall warm wash
watch water wave weather week well west wheel white wide wild wind window winter wise wolf wood
wool word work world write yard year yellow young
`)
